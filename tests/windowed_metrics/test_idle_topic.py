"""On an idle topic everything open closes after the idle timeout, once and for good."""

from tests.windowed_metrics.harness import MINUTE, SECOND, START, driver, ends, finals, metric, pipe
from windowed_metrics.settings import EmitResults


def test_all_open_windows_close_at_the_idle_timeout() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    task.pipe("s1", metric(5 * MINUTE))
    assert task.advance_wall_time(5 * MINUTE - 1) == []
    assert ends(task.advance_wall_time(1)) == [("s1", "cpu_usage", 0), ("s1", "cpu_usage", 5 * MINUTE)]
    assert task.advance_wall_time(60 * MINUTE) == []


def test_another_timeout_and_none() -> None:
    soon, never = finals(idle_timeout_ms=10 * SECOND), finals(idle_timeout_ms=0)
    for task in (soon, never):
        task.pipe("s1", metric(0))
        assert task.advance_wall_time(10 * SECOND - 1) == []
    assert len(soon.advance_wall_time(1)) == 1
    assert never.advance_wall_time(1000 * MINUTE) == []
    assert len(never.pipe("s1", metric(6 * MINUTE))) == 1


def test_a_final_is_the_same_whether_time_or_idleness_closed_it() -> None:
    by_time, by_idleness = finals(), finals()
    for task in (by_time, by_idleness):
        task.pipe("s1", metric(0))
    assert by_time.pipe("s2", metric(77 * MINUTE)) == by_idleness.advance_wall_time(5 * MINUTE)
    assert by_time.outputs[0].value.processing_info.processing_timestamp == START + 6 * MINUTE


def test_an_event_for_a_window_closed_by_idleness_is_late_so_that_nothing_is_final_twice() -> None:
    task = driver(emit_results=EmitResults.BOTH)
    pipe(task, 0)
    task.advance_wall_time(5 * MINUTE)
    assert task.pipe("s1", metric(MINUTE)) == []
    assert [record.headers["late.by_ms"] for record in task.late] == ["0"]
    assert task.advance_wall_time(60 * MINUTE) == []


def test_a_window_closed_by_idleness_stays_closed_after_a_restart() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    task.advance_wall_time(5 * MINUTE)
    task.restart()
    assert task.pipe("s1", metric(MINUTE)) == []
    assert len(task.late) == 1


def test_the_next_window_opens_and_closes_as_ever() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    task.advance_wall_time(5 * MINUTE)
    task.pipe("s1", metric(5 * MINUTE))
    assert ends(task.advance_wall_time(5 * MINUTE)) == [("s1", "cpu_usage", 5 * MINUTE)]


def test_with_results_for_every_event_idleness_sends_nothing_and_closes_nothing() -> None:
    task = driver()
    pipe(task, 0)
    assert task.advance_wall_time(60 * MINUTE) == []
    assert pipe(task, MINUTE).statistics.count == 2


def test_an_idle_topic_before_the_first_event() -> None:
    assert finals().advance_wall_time(60 * MINUTE) == []
