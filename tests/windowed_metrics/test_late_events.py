"""A window accepts events until stream time reaches its end plus the grace. Later events go to .late."""

import pytest

from tests.windowed_metrics.harness import MINUTE, SECOND, START, driver, metric, pipe, states
from windowed_metrics.settings import EmitResults

CLOSE = 6 * MINUTE


def test_accepted_until_one_ms_before_the_window_closes() -> None:
    task = driver()
    pipe(task, 0, 10.0)
    pipe(task, CLOSE - 1, name="other")
    assert pipe(task, 4 * MINUTE, 20.0).statistics.count == 2
    assert task.late == []


@pytest.mark.parametrize("by_ms", [0, 1, 90 * SECOND])
def test_event_is_late_once_its_window_closes_with_its_lateness(by_ms: int) -> None:
    task = driver()
    pipe(task, 0, 10.0)
    pipe(task, CLOSE + by_ms)
    before = states(task)
    late = metric(4 * MINUTE, 20.0)
    assert task.pipe("s1", late) == []
    (record,) = task.late
    assert record.key == b"s1"
    assert record.headers["late.by_ms"] == str(by_ms)
    assert record.headers["late.stream_time"] == str(START + CLOSE + by_ms)
    assert states(task) == before
    assert task.errors == []


def test_event_of_another_server_advances_the_stream_time() -> None:
    task = driver()
    task.pipe("s2", metric(CLOSE))
    assert task.pipe("s1", metric(0)) == []
    assert len(task.late) == 1


def test_grace_is_a_setting() -> None:
    task = driver(grace_ms=0)
    pipe(task, 5 * MINUTE - 1)
    pipe(task, 5 * MINUTE)
    task.pipe("s1", metric(5 * MINUTE - 1))
    assert [record.headers["late.by_ms"] for record in task.late] == ["0"]


def test_a_late_event_id_is_not_remembered_as_accepted() -> None:
    task = driver()
    pipe(task, CLOSE)
    task.pipe("s1", metric(0, metric_id="m"))
    task.pipe("s1", metric(0, metric_id="m"))
    assert (len(task.late), task.duplicates) == (2, 0)


@pytest.mark.parametrize("emit_results", EmitResults)
def test_lateness_does_not_depend_on_the_emission(emit_results: EmitResults) -> None:
    task = driver(emit_results=emit_results)
    task.pipe("s1", metric(0))
    task.pipe("s1", metric(CLOSE))
    assert task.pipe("s1", metric(1)) == []
    assert len(task.late) == 1
