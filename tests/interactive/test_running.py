"""The metrics of a running job's handle wait for the first report, unless the job has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.demo.children import Child
from forebay.demo.figures import Figures
from forebay.demo.probe import JobProbe
from forebay.interactive.running import RunningJob


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunningJob:
    """Return the handle of a job whose process is never started."""
    for name, value in {"start": None, "exit_code": None, "stop": 0}.items():
        monkeypatch.setattr(Child, name, lambda *_, value=value: value)
    return RunningJob("user-sessions", {}, {}, tmp_path)


def test_metrics_wait_for_the_first_report(job: RunningJob, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = iter([None, None, Figures(commits=1)])
    monkeypatch.setattr(JobProbe, "figures", lambda _: next(reports))
    assert job.metrics() == Figures(commits=1)


def test_a_metrics_request_does_not_wait_for_an_ended_job(job: RunningJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "exit_code", lambda _: 1)
    reports = iter([None])
    monkeypatch.setattr(JobProbe, "figures", lambda _: next(reports))
    assert job.metrics() is None
