"""If the topic is idle, windows close as the clock advances. After a configured timeout, all open windows close."""

from tests.windowed_metrics.harness import MINUTE, SECOND, START, driver, ends, finals, metric, pipe
from windowed_metrics.settings import EmitResults


def test_idle_minute_does_not_close_the_current_window() -> None:
    task = driver(emit_results=EmitResults.BOTH)
    pipe(task, MINUTE)
    assert task.advance_wall_time(MINUTE) == []
    assert pipe(task, 2 * MINUTE).statistics.count == 2
    assert task.late == []


def test_a_window_closes_when_the_idle_time_reaches_its_end_and_grace() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    assert task.advance_wall_time(6 * MINUTE - 1) == []
    assert ends(task.advance_wall_time(1)) == [("s1", "cpu_usage", 0)]
    assert task.advance_wall_time(60 * MINUTE) == []


def test_all_open_windows_close_at_the_idle_timeout() -> None:
    task = finals(idle_timeout_ms=30 * SECOND)
    task.pipe("s1", metric(0))
    task.pipe("s1", metric(5 * MINUTE))
    assert task.advance_wall_time(30 * SECOND - 1) == []
    assert ends(task.advance_wall_time(1)) == [("s1", "cpu_usage", 0), ("s1", "cpu_usage", 5 * MINUTE)]
    assert task.advance_wall_time(60 * MINUTE) == []


def test_idle_timeout_is_optional_and_configurable() -> None:
    soon, by_clock = finals(idle_timeout_ms=10 * SECOND), finals()
    for task in (soon, by_clock):
        task.pipe("s1", metric(0))
        assert task.advance_wall_time(10 * SECOND - 1) == []
    assert len(soon.advance_wall_time(1)) == 1
    assert by_clock.advance_wall_time(MINUTE) == []
    assert len(by_clock.pipe("s1", metric(6 * MINUTE))) == 1


def test_a_final_is_the_same_whether_time_or_idleness_closed_it() -> None:
    by_time, by_idleness = finals(), finals()
    for task in (by_time, by_idleness):
        task.pipe("s1", metric(0))
    assert by_time.pipe("s2", metric(77 * MINUTE)) == by_idleness.advance_wall_time(6 * MINUTE)
    assert by_time.outputs[0].value.processing_info.processing_timestamp == START + 6 * MINUTE


def test_event_for_a_window_closed_by_idleness_is_late() -> None:
    task = driver(emit_results=EmitResults.BOTH)
    pipe(task, 0)
    task.advance_wall_time(6 * MINUTE)
    assert task.pipe("s1", metric(MINUTE)) == []
    assert [record.headers["late.by_ms"] for record in task.late] == ["0"]
    assert task.advance_wall_time(60 * MINUTE) == []


def test_a_window_closed_by_idleness_stays_closed_after_a_restart() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    task.advance_wall_time(6 * MINUTE)
    task.restart()
    assert task.pipe("s1", metric(MINUTE)) == []
    assert len(task.late) == 1


def test_next_window_opens_and_closes_normally_after_an_idle_close() -> None:
    task = finals(idle_timeout_ms=5 * MINUTE)
    task.pipe("s1", metric(0))
    task.advance_wall_time(5 * MINUTE)
    task.pipe("s1", metric(5 * MINUTE))
    assert ends(task.advance_wall_time(5 * MINUTE)) == [("s1", "cpu_usage", 5 * MINUTE)]


def test_idleness_closes_nothing_if_every_event_emits_a_result() -> None:
    task = driver()
    pipe(task, 0)
    assert task.advance_wall_time(60 * MINUTE) == []
    assert pipe(task, MINUTE).statistics.count == 2


def test_an_idle_topic_before_the_first_event() -> None:
    assert finals().advance_wall_time(60 * MINUTE) == []
