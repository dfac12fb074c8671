"""A worker that is replaced while its query runs is counted and logged once. Workers of a new query are not counted."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from prometheus_client import generate_latest

from forebay.demo.figures import read_figures
from forebay.demo.samples import Samples
from forebay.http.health import Health
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.observability.worker_restarts import WorkerRestarts
from forebay.runtime.task.statistics import TaskFigures


class Job:
    def __init__(self) -> None:
        self.now, self.started, self.at = 100.0, 100.0, 0
        self.metrics = JobMetrics("svc")
        self.health = Health()
        self.restarts = WorkerRestarts("app", self.metrics, self.health, lambda: self.now)

    def report(self, **workers: int) -> None:
        """Report tasks `t0`, `t1`, ... from these process ids, a second after the last report."""
        self.now += 1
        self.at += 1
        reports = [
            TaskFigures(0, int(name[1:]), opened=1, at=self.at, worker=worker) for name, worker in workers.items()
        ]
        self.restarts.observe(reports, self.started)

    @property
    def count(self) -> float | None:
        return self.metrics.registry.get_sample_value("forebay_worker_restarts_total", {"service": "svc"})


@pytest.fixture
def job(caplog: pytest.LogCaptureFixture) -> Job:
    caplog.set_level(logging.WARNING)
    return Job()


def test_a_restart_is_counted_once_for_all_tasks_of_the_worker(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    job.report(t0=11, t1=11, t2=22)
    assert job.count == 0
    job.report(t0=33, t2=22)
    job.report(t0=33, t1=33, t2=22)
    assert job.count == 1
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "the worker process 11 has ended, and process 33 has its tasks, such as 0-0 (1 times" in record.message


def test_every_restart_is_counted(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    for worker in range(5):
        job.report(t0=worker + 1)
    assert job.count == 4
    assert "(4 times" in caplog.records[-1].message
    assert [(restart.what, "process 4 has ended" in restart.reason) for restart in job.health.restarts][-1] == (
        "worker",
        True,
    )
    assert len(job.health.restarts) == 4


def test_workers_of_a_new_query_do_not_count_as_restarts(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    job.report(t0=11)
    job.started = job.now + 0.5
    job.report(t0=22)
    assert job.count == 0
    assert not caplog.records
    job.report(t0=33)
    assert job.count == 1


def test_a_late_report_of_the_previous_lease_does_not_count_as_a_restart(job: Job) -> None:
    job.report(t0=11)
    job.started = job.now + 0.5
    job.report(t0=11)
    job.report(t0=22)
    assert job.count == 0
    job.report(t0=33)
    assert job.count == 1


def test_a_worker_replaced_long_after_a_placement_in_it_counts_as_a_restart(job: Job) -> None:
    job.report(t0=11)
    job.started = job.now + 0.5
    job.report(t0=11)
    job.now += 60
    job.report(t0=22)
    assert job.count == 1


def test_a_repeated_report_does_not_count_as_a_restart(job: Job) -> None:
    first = TaskFigures(0, 0, opened=1, at=5, worker=11)
    for report in (first, replace(first, at=4), first):
        job.restarts.observe([report], job.started)
    assert job.count == 0


def test_console_and_demo_show_restarts(job: Job) -> None:
    job.report(t0=11)
    job.report(t0=22)
    job.metrics.count_restart()
    assert read_figures(Samples(generate_latest(job.metrics.registry).decode()), "svc").restarts == 2
