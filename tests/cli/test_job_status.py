"""`forebay status` shows the state of jobs and when it began, their lag, and the share of failed records."""

from __future__ import annotations

import io

from rich.console import Console

from forebay.cli.job_status import JobStatus, job_table
from forebay.console.verdicts import State

EVENT = {"at_ms": 1, "what": "worker", "reason": "the worker process 7 has ended [oom]"}


def status_of(state: State, **changes: object) -> JobStatus:
    fields: dict[str, object] = {
        "application": "shop",
        "state": state,
        "reason": "why [so]",
        "since_ms": 1_700_000_000_000,
        "exit_code": None,
        "lag": 1_234,
        "records_in": 1_000,
        "errors": 25,
        "late": 0,
        "events": [EVENT],
    }
    return JobStatus(**(fields | changes))  # type: ignore[arg-type]


def text_of(job: JobStatus, with_events: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(job_table([job], with_events))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_running_job_has_statistics_and_no_reason() -> None:
    text = text_of(status_of(State.RUNNING))
    assert "1,234" in text
    assert "25 (2.5% of 1,000)" in text
    assert "why" not in text
    assert "worker" not in text


def test_every_other_state_has_a_reason() -> None:
    words = {State.TROUBLE: "waiting", State.NEVER: "never started", State.DOWN: "down", State.STARTING: "starting"}
    for state, word in words.items():
        text = text_of(status_of(state, lag=None))
        assert word in text
        assert "why [so]" in text
    assert "exit code 1: why [so]" in text_of(status_of(State.ENDED, exit_code=1))


def test_events_are_listed_with_their_reasons() -> None:
    assert "the worker process 7 has ended [oom]" in text_of(status_of(State.RUNNING), with_events=True)


def test_json_has_the_share_of_failed_records() -> None:
    content = status_of(State.ENDED, exit_code=1).to_json()
    assert (content["state"], content["errors_share"], content["exit_code"]) == ("ended", 0.025, 1)
    assert status_of(State.RUNNING, records_in=0).to_json()["errors_share"] is None
