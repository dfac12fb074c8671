"""A job that would give wrong results on Spark is refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.builder import Topology
from forebay.catalog import SERVICES
from forebay.job import load_job
from forebay.kafka.settings import KafkaSettings
from forebay.runtime import app
from forebay.runtime.app import JobApplication, JobOptions
from forebay.runtime.query import Plan
from forebay.runtime.runnable import NotRunnable, check_runnable
from tests.dsl.driving import Driven


def with_global_table(t: Topology) -> None:
    towns = t.global_table("towns", str, store="towns")
    t.stream("orders", str).join(towns, lambda a, b: a + b, str, key_of=lambda _, town: town).to("out")


def test_several_tasks_would_have_parts_of_a_global_table() -> None:
    job = Driven(with_global_table).job
    check_runnable(job, 1)
    with pytest.raises(NotRunnable, match=r"towns: a task reads its own partitions, so each of 2 tasks .* --tasks 1"):
        check_runnable(job, 2)


def test_the_start_refuses_it_before_a_topic_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", schema_registry_url="http://127.0.0.1:1")
    started = JobApplication(JobOptions("user-sessions", kafka, Plan(str(tmp_path / "checkpoint"))))
    monkeypatch.setattr(app.JobRights, "require", lambda _: None)
    monkeypatch.setattr(app, "count_tasks", lambda *_: 2)
    monkeypatch.setattr(app, "check_topics", lambda *_: pytest.fail("topics were looked at"))
    monkeypatch.setattr(app, "load_job", lambda _: Driven(with_global_table).job)
    with pytest.raises(NotRunnable, match=r"towns: .* run the job with --tasks 1"):
        started.run()


def test_a_graph_runs() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.group_by(lambda _, v: v, str).count(store="one").to_stream().to("a")
        words.group_by(lambda _, v: v[0], str).count(store="two").to_stream().to("b")

    check_runnable(Driven(build).job, 4)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_service_has_a_global_table(name: str) -> None:
    check_runnable(load_job(SERVICES[name].job), 4)
