"""Several jobs in one process end independently, start one after the other, and share one health and metrics server."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from forebay.http.health import Health
from forebay.http.messages import Request
from forebay.runtime.driver.several import JobsFailed, SeveralJobs
from forebay.runtime.driver.several_health import several_page, several_server
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures


class Job:
    """Runs until it is stopped, or ends with an error once `ends` is set."""

    def __init__(self, application: str, error: Exception | None = None) -> None:
        self.application = application
        self.health = Health()
        self.began = threading.Event()
        self.stopping = threading.Event()
        self._error = error

    def run(self) -> None:
        self.began.set()
        if self._error is not None:
            raise self._error
        assert self.stopping.wait(30)

    def stop(self) -> None:
        self.stopping.set()


class Run:
    def __init__(self, *jobs: Job, at_once: int = 9) -> None:
        self.closed = 0
        self.problems: tuple[str, ...] = ()
        self.several = SeveralJobs(jobs, self._close, at_once)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.several.run()
        except JobsFailed as error:
            self.problems = error.problems

    def _close(self) -> None:
        self.closed += 1

    def end(self) -> None:
        self.several.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()


def test_a_job_that_fails_ends_alone(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = Job("bad", ValueError("no such topic")), Job("good")
    run = Run(bad, good)
    assert good.began.wait(30)
    assert bad.began.wait(30)
    assert run.closed == 0
    run.end()
    assert run.problems == ("bad: no such topic",)
    assert run.closed == 1
    assert [job.health.end and job.health.end.exit_code for job in (bad, good)] == [1, 0]
    assert bad.health.ready().reason == "ended: no such topic"
    assert "bad: ended; the other jobs continue: no such topic" in caplog.messages


def test_the_next_one_starts_when_the_one_before_has_begun() -> None:
    first, second = Job("first"), Job("second")
    run = Run(first, second, at_once=1)
    assert first.began.wait(30)
    assert not second.began.is_set()
    first.health.working()
    assert second.began.wait(30)
    run.end()


def test_a_job_that_waits_for_its_broker_does_not_block_others() -> None:
    first, second = Job("first"), Job("second")
    run = Run(first, second, at_once=1)
    first.health.failing("the broker is away")
    assert second.began.wait(30)
    run.end()


def test_a_job_that_has_not_started_yet_does_not_start_when_the_run_ends() -> None:
    first, second = Job("first"), Job("second")
    run = Run(first, second, at_once=1)
    assert first.began.wait(30)
    run.end()
    assert not second.began.is_set()
    assert run.problems == ()


def page(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_health_covers_all_jobs_and_each_one() -> None:
    jobs = {name: (Health(), JobMetrics(name)) for name in ("first", "second")}
    jobs["second"][0].working()
    server = several_server(
        {name: (health, job_metrics.registry) for name, (health, job_metrics) in jobs.items()}, "127.0.0.1", 0
    )
    try:
        assert page(server.port, "/healthz")[0] == 200
        status, text = page(server.port, "/readyz")
        assert status == 503
        assert "first: starting: no task has begun yet" in text
        assert "second" not in text
        assert page(server.port, "/second/readyz")[0] == 200
        assert page(server.port, "/third/readyz")[0] == 404
        jobs["first"][0].working()
        assert page(server.port, "/readyz")[0] == 200
    finally:
        server.close()


def test_metrics_of_all_are_one_page_in_which_each_family_comes_once() -> None:
    metrics = {name: JobMetrics(name) for name in ("first", "second")}
    for outputs, job_metrics in enumerate(metrics.values(), 5):
        job_metrics.observe([TaskFigures(0, 0, at=2**62, commits=1, outputs=outputs)])
    pages = {name: (Health(), job_metrics.registry) for name, job_metrics in metrics.items()}
    answer = several_page(Request(("metrics",)), pages)
    assert answer is not None
    assert isinstance(answer.body, bytes)
    families = list(text_string_to_metric_families(answer.body.decode()))
    assert len({family.name for family in families}) == len(families)
    (out,) = (family for family in families if family.name == "forebay_records_out")
    sent = {s.labels["service"]: s.value for s in out.samples if s.labels["kind"] == "output" and "total" in s.name}
    assert sent == {"first": 5.0, "second": 6.0}
