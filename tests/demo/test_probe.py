"""A job is asked over HTTP as an operator would; one that does not answer is starting."""

import time
from collections.abc import Iterator

import pytest

from forebay.demo.probe import JobProbe
from forebay.platform.ports import HOST, free_port
from forebay.runtime.health import Health, Verdict, health_server
from forebay.runtime.metrics import JobMetrics
from forebay.runtime.task.figures import TaskFigures


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


def test_nobody_answers() -> None:
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


def test_trouble_is_told(job: Job) -> None:
    job.health.failing("the broker is away")
    assert job.probe.state() == Verdict(False, "the broker is away")
