"""Invalid events go to .errors and change nothing."""

from typing import Any

import pytest

from tests.user_sessions.harness import START, activity, driver, pipe


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"action": ""}, "action is empty"),
        ({"session": ""}, "session_id is empty"),
        ({"duration_ms": -1}, "duration_ms is -1"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(fields: dict[str, Any], reason: str) -> None:
    task = driver()
    pipe(task, 0)
    before = task.store("user-profiles")
    assert task.pipe("ann", activity(1, **{"session": "s2"} | fields)) == []
    (failure,) = task.errors
    assert failure.headers["error.stage"] == "process"
    assert reason in failure.headers["error.message"]
    assert task.store("user-profiles") == before
    assert not pipe(task, 2).session_ended


def test_a_repeated_event_id_changes_nothing() -> None:
    task = driver()
    pipe(task, 0, event_id="e1")
    before = task.store("user-profiles")
    assert task.pipe("ann", activity(0, "s2", event_id="e1")) == []
    assert task.duplicates == 1
    assert task.store("user-profiles") == before


def test_events_without_an_id_are_never_repetitions() -> None:
    task = driver()
    pipe(task, 0, event_id=None)
    assert pipe(task, 0, event_id=None).session_totals.total_time_ms == 20


def test_undecodable_bytes_change_nothing() -> None:
    task = driver()
    pipe(task, 0)
    assert task.pipe_bytes(b"ann", b"\x02", START) == []
    assert len(task.errors) == 1
    assert pipe(task, 1).session_totals.total_time_ms == 20
