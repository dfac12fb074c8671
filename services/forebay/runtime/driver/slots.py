"""Checks that Spark has a slot for each task group. A group without a slot gets no lease, which nothing else shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from forebay.runtime.errors import StopJob
from forebay.runtime.launch.own_workers import JOBS, is_local

PATIENCE_SECONDS = 10.0
"""How long groups may wait for a slot before it is reported: Spark places tasks within a second if it has slots."""
_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Stages:
    """The running stages of a query.

    Args:
        tasks: tasks that have not completed.
        running: tasks that occupy a slot.
        others: slots that tasks of other Spark jobs occupy.
    """

    tasks: int
    running: int
    others: int


def count_slots(context: SparkContext) -> int:
    """Return the number of tasks that Spark can run at the same time with its present executors."""
    scala: Any = context._jsc.sc()
    # The public `defaultParallelism` is a setting, ignores spark.task.cpus, and is at least 2 on a cluster.
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def has_fixed_slots(context: SparkContext) -> bool:
    """Return whether Spark never gets more slots than it has: its tasks run in the driver's own JVM."""
    master = context.master or ""
    return master == "local" or is_local(master)


def require_slots(context: SparkContext, groups: int) -> None:
    """Refuse a Spark that can never run all task groups at the same time.

    Args:
        groups: of each job that shares this Spark.

    Raises:
        StopJob: it has fewer slots.
    """
    if not has_fixed_slots(context):
        return
    jobs = int(context.getConf().get(JOBS, "1") or 1)
    slots, needed = count_slots(context), groups * jobs
    if slots < needed:
        of = f"of {jobs} jobs" if jobs > 1 else "of the job"
        raise StopJob(
            f"{_slots(slots, context.master)}, but the {needed} task groups {of} need {needed}: each group occupies a "
            f"slot while it runs. {_remedy(context, needed)}"
        )


class SlotWatch:
    """Notices task groups that wait for a slot while a query runs.

    Args:
        count: returns the stages of a run of the query by its id.
        explain: returns the message for a number of groups that wait, of a number of groups.
    """

    def __init__(
        self,
        count: Callable[[str], Stages],
        explain: Callable[[int, Stages], str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count, self._explain, self._monotonic = count, explain, monotonic
        self._since: float | None = None
        self._run = ""
        self._next_look = 0.0
        self._text = ""

    @classmethod
    def of(cls, context: SparkContext, monotonic: Callable[[], float] = time.monotonic) -> SlotWatch:
        """Return the watch of a Spark's queries: a query's job group is the id of its run."""
        return cls(
            lambda run: count_stages(context, context.statusTracker().getJobIdsForGroup(run)),
            lambda waiting, stages: explain(context, waiting, stages),
            monotonic,
        )

    def trouble(self, run: str) -> str:
        """Return what the groups of a query wait for; "" while all have slots, and for the first seconds.

        Args:
            run: the id of the query's run.
        """
        now = self._monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            # Spark that is ending answers nothing, and the query reports why.
            with suppress(Py4JError, OSError):
                self._text = self._look(run, now)
        return self._text

    def _look(self, run: str, now: float) -> str:
        stages = self._count(run)
        waiting = stages.tasks - stages.running
        if run != self._run:
            self._run, self._since = run, None
        if waiting <= 0:
            self._since = None
            return ""
        if self._since is None:
            self._since = now
        return self._explain(waiting, stages) if now - self._since >= PATIENCE_SECONDS else ""


def count_stages(context: SparkContext, jobs: Iterable[int]) -> Stages:
    """Return the running stages of some Spark jobs."""
    tracker = context.statusTracker()
    active = set(tracker.getActiveJobsIds())
    tasks = running = 0
    for job in jobs:
        info = tracker.getJobInfo(job) if job in active else None
        for number in info.stageIds if info is not None else ():
            stage = tracker.getStageInfo(number)
            if stage is not None:
                tasks += stage.numTasks - stage.numCompletedTasks
                running += stage.numActiveTasks
    executors = context._jsc.sc().statusTracker().getExecutorInfos()
    return Stages(tasks, running, max(0, sum(executor.numRunningTasks() for executor in executors) - running))


def explain(context: SparkContext, waiting: int, stages: Stages) -> str:
    """Return the message about groups that wait for slots."""
    occupied = f", of which other Spark jobs occupy {stages.others}" if stages.others else ""
    return (
        f"{waiting} of {stages.tasks} task groups wait for a slot. {_slots(count_slots(context), context.master)}"
        f"{occupied}. Each group occupies a slot while it runs. {_remedy(context, stages.tasks + stages.others)}"
    )


def _slots(count: int, master: str | None) -> str:
    return f"Spark has {count} slot{'' if count == 1 else 's'} (spark.master={master})"


def _remedy(context: SparkContext, needed: int) -> str:
    cpus = int(context.getConf().get("spark.task.cpus", "1") or 1)
    if has_fixed_slots(context):
        return f"Leave out spark.master and use `--slots`, or set spark.master=local[{needed * cpus}]"
    return f"Give Spark's executors at least {needed * cpus} cores in total, or end other Spark jobs that occupy them"


__all__ = ["SlotWatch", "Stages", "count_slots", "count_stages", "has_fixed_slots", "require_slots"]
