"""The demo requests a job's state over HTTP, like an operator. A job that does not respond counts as starting."""

import time
from collections.abc import Iterator

import pytest

from forebay.demo.probe import JobProbe
from forebay.http.health import Health, Verdict, health_server
from forebay.platform.ports import HOST, free_port
from forebay.runtime.driver.several_health import several_server
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures


class Job:
    def __init__(self) -> None:
        self.metrics, self.health = JobMetrics("user-sessions"), Health()
        self.server = health_server(self.health, self.metrics.registry, HOST, 0)
        self.probe = JobProbe("user-sessions", self.server.port)


@pytest.fixture
def job() -> Iterator[Job]:
    running = Job()
    yield running
    running.server.close()


def test_of_several_jobs_each_has_its_own_pages() -> None:
    jobs = {name: (Health(), JobMetrics(name)) for name in ("user-sessions", "device-alerts")}
    server = several_server({name: (health, metrics.registry) for name, (health, metrics) in jobs.items()}, HOST, 0)
    try:
        health, metrics = jobs["device-alerts"]
        metrics.observe([TaskFigures(0, 0, at=time.time_ns(), commits=1, outputs=6)])
        health.working()
        probes = [JobProbe(name, server.port, f"/{name}") for name in jobs]
        assert [probe.state().ok for probe in probes] == [False, True]
        assert [figures.outputs if (figures := probe.figures()) else None for probe in probes] == [None, 6]
    finally:
        server.close()


def test_no_server_answers() -> None:
    probe = JobProbe("user-sessions", free_port())
    assert probe.state() == Verdict(False, "starting")
    assert probe.figures() is None


def test_nothing_is_committed_yet(job: Job) -> None:
    assert job.probe.state() == Verdict(False, "starting: no task has begun yet")
    assert job.probe.figures() is None


def test_after_a_commit(job: Job) -> None:
    job.metrics.observe([TaskFigures(0, 0, at=time.time_ns(), commits=1, records_in={"user_activity": 7}, outputs=6)])
    job.health.working()
    assert job.probe.state().ok
    figures = job.probe.figures()
    assert figures is not None
    assert (figures.records_in, figures.outputs) == (7, 6)


def test_trouble_is_reported(job: Job) -> None:
    job.health.failing("the broker is away")
    assert job.probe.state() == Verdict(False, "the broker is away")
