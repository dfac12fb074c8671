"""If Spark has fewer slots than the job has task groups, the job refuses to start or reports it within seconds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.driver.slots import PATIENCE_SECONDS, SlotWatch, Stages, count_stages, explain, require_slots
from forebay.runtime.errors import StopJob
from forebay.spark.backfill_slots import require_slots_of_groups
from forebay.spark.errors import OptionError


class Context:
    """A Spark context with some slots and running stages."""

    def __init__(self, master: str, *slots: int, **settings: str) -> None:
        self.master = master
        self._slots = list(slots)
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        profiles = SimpleNamespace(defaultResourceProfile=lambda: None)
        executors = [SimpleNamespace(numRunningTasks=lambda: 1), SimpleNamespace(numRunningTasks=lambda: 2)]
        scala = SimpleNamespace(
            maxNumConcurrentTasks=self._count,
            resourceProfileManager=lambda: profiles,
            statusTracker=lambda: SimpleNamespace(getExecutorInfos=lambda: executors),
        )
        self._jsc = SimpleNamespace(sc=lambda: scala)

    def getConf(self) -> Any:
        return self._settings

    def _count(self, _profile: None) -> int:
        return self._slots.pop(0) if len(self._slots) > 1 else self._slots[0]

    def statusTracker(self) -> Any:
        stages = {
            7: SimpleNamespace(numTasks=3, numCompletedTasks=1, numActiveTasks=1),
            8: SimpleNamespace(numTasks=9, numCompletedTasks=0, numActiveTasks=9),
        }
        return SimpleNamespace(
            getActiveJobsIds=lambda: [1],
            getJobInfo=lambda job: SimpleNamespace(stageIds=[7] if job == 1 else [8]),
            getStageInfo=stages.get,
        )


def context(master: str, *slots: int, **settings: str) -> Any:
    return Context(master, *slots, **settings)


@pytest.mark.parametrize(("master", "slots"), [("local", 1), ("local[1]", 1), ("local[3,4]", 3)])
def test_a_local_spark_with_fewer_slots_than_groups_is_refused(master: str, slots: int) -> None:
    with pytest.raises(StopJob) as refused:
        require_slots(context(master, slots), 4)
    count = "1 slot" if slots == 1 else f"{slots} slots"
    assert f"Spark has {count} (spark.master={master})" in str(refused.value)
    assert "the 4 task groups of the job need 4" in str(refused.value)
    assert "set spark.master=local[4]" in str(refused.value)


def test_the_slots_of_all_jobs_that_share_a_spark_count() -> None:
    with pytest.raises(StopJob, match="the 3 task groups of 3 jobs need 3"):
        require_slots(context("local[2]", 2, spark_forebay_jobs="3"), 1)


def test_the_cores_of_a_task_count() -> None:
    with pytest.raises(StopJob, match=r"Spark has 1 slot .*set spark\.master=local\[4\]"):
        require_slots(context("local[2]", 1, spark_task_cpus="2"), 2)


@pytest.mark.parametrize("master", ["spark://host:7077", "k8s://https://host", "local-cluster[1,1,640]", "yarn"])
def test_executors_of_a_cluster_may_come_later(master: str) -> None:
    require_slots(context(master, 0), 4)
    require_slots(context("local[4]", 4), 4)


def test_groups_that_wait_for_a_slot_are_reported_after_some_seconds() -> None:
    now, stages = 0.0, Stages(tasks=3, running=2, others=0)
    watch = SlotWatch(lambda run: stages, lambda waiting, _: f"{waiting} wait", lambda: now)
    assert watch.trouble("run") == ""
    now = PATIENCE_SECONDS / 2
    assert watch.trouble("run") == ""
    now = PATIENCE_SECONDS
    assert watch.trouble("run") == "1 wait"
    stages = replace(stages, running=3)
    now += 5
    assert watch.trouble("run") == ""
    stages = replace(stages, running=1)
    now += 5
    assert watch.trouble("run") == ""
    now += PATIENCE_SECONDS
    assert watch.trouble("next run") == "", "its groups have only begun to wait"


def test_stages_of_other_spark_jobs_are_counted_separately() -> None:
    spark = context("spark://host:7077", 3)
    stages = count_stages(spark, [1, 2])
    assert stages == Stages(tasks=2, running=1, others=2)
    text = explain(spark, 1, stages)
    assert "1 of 2 task groups wait for a slot. Spark has 3 slots (spark.master=spark://host:7077)" in text
    assert "of which other Spark jobs occupy 2" in text
    assert "at least 4 cores" in text


def test_a_backfill_whose_groups_need_each_other_is_refused_without_slots() -> None:
    with pytest.raises(OptionError, match=r"the 2 task groups of app .* groups=1 \(Spark has 1, spark.master=local"):
        require_slots_of_groups(context("local[1]", 1), "app", 2)


def test_a_backfill_waits_for_executors_that_register() -> None:
    pauses: list[float] = []
    require_slots_of_groups(context("yarn", 0, 0, 1, 2), "app", 2, pauses.append)
    assert len(pauses) == 3
    with pytest.raises(OptionError, match="Spark has 1"):
        require_slots_of_groups(context("yarn", 0, 1), "app", 2, pauses.append)
