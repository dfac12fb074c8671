"""A window's final result is sent once, in order, at the window's end plus the grace, and is never lost."""

from tests.windowed_metrics.harness import MINUTE, START, driver, ends, finals, metric, pipe, states
from windowed_metrics.model import ProcessingInfo, Statistics
from windowed_metrics.settings import EmitResults

CLOSE = 6 * MINUTE


def test_a_final_comes_at_exactly_end_plus_grace() -> None:
    task = finals()
    assert task.pipe("s1", metric(1000, 10.0, metric_id="m-1")) == []
    assert task.pipe("s1", metric(3000, 20.0, metric_id="m-2")) == []
    assert task.pipe("s2", metric(CLOSE - 1)) == []
    (final,) = task.pipe("s2", metric(CLOSE))
    assert (final.key, final.timestamp) == ("s1", START + 3000)
    assert final.value.statistics == Statistics(2, 15.0, 10.0, 20.0, 30.0, 10.0)
    assert final.value.processing_info == ProcessingInfo(False, True, "m-2", START + CLOSE)


def test_every_sends_no_finals_and_both_sends_all() -> None:
    every, both = driver(), driver(emit_results=EmitResults.BOTH)
    for task in (every, both):
        pipe(task, 0)
        task.pipe("s1", metric(CLOSE))
    assert [output.value.processing_info.window_final for output in every.outputs] == [False, False]
    assert [output.value.processing_info.window_final for output in both.outputs] == [False, True, False]


def test_finals_come_before_the_result_of_the_event_that_closed_them() -> None:
    task = driver(emit_results=EmitResults.BOTH)
    pipe(task, 0)
    final, update = task.pipe("s1", metric(CLOSE))
    assert final.value.window.start_timestamp == START
    assert update.value.window.start_timestamp == START + 5 * MINUTE


def test_time_jump_closes_all_windows_by_start_then_server_then_metric() -> None:
    task = finals(grace_ms=30 * MINUTE)
    for server, at, name in (
        ("s2", 12 * MINUTE, "cpu"),
        ("s1", 11 * MINUTE, "cpu"),
        ("s2", 3 * MINUTE, "cpu"),
        ("s1", 2 * MINUTE, "memory"),
        ("s1", MINUTE, "cpu"),
    ):
        task.pipe(server, metric(at, name=name))
    assert ends(task.pipe("s3", metric(100_000 * MINUTE))) == [
        ("s1", "cpu", 0),
        ("s1", "memory", 0),
        ("s2", "cpu", 0),
        ("s1", "cpu", 10 * MINUTE),
        ("s2", "cpu", 10 * MINUTE),
    ]


def test_each_window_is_final_once() -> None:
    task = finals()
    for minute in range(60):
        task.pipe("s1", metric(minute * MINUTE))
    assert ends(task.outputs) == [("s1", "cpu_usage", start * MINUTE) for start in range(0, 55, 5)]


def test_a_jump_in_the_middle_of_a_batch() -> None:
    task = finals()
    outputs = task.run_batch([("s1", metric(at * MINUTE)) for at in (0, 200, 201, 400)])
    assert ends(outputs) == [("s1", "cpu_usage", 0), ("s1", "cpu_usage", 200 * MINUTE)]


def test_an_event_that_is_refused_closes_windows_too() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    assert ends(task.pipe("s1", metric(CLOSE, name=""))) == [("s1", "cpu_usage", 0)]
    assert len(task.errors) == 1
    assert task.pipe("s1", metric(CLOSE + 1)) == []


def test_after_a_restart_closed_windows_stay_closed_and_open_ones_still_close() -> None:
    task = finals()
    task.pipe("s1", metric(0))
    task.pipe("s1", metric(CLOSE))
    task.restart()
    assert ends(task.pipe("s1", metric(5 * MINUTE + CLOSE))) == [("s1", "cpu_usage", 5 * MINUTE)]
    task.restart()
    assert ends(task.advance_wall_time(5 * MINUTE)) == [("s1", "cpu_usage", 10 * MINUTE)]
    assert len(ends(task.outputs)) == len(states(task)) == 3


def test_window_opened_out_of_order_closes_in_order() -> None:
    task = finals()
    task.pipe("s1", metric(5 * MINUTE))
    task.pipe("s1", metric(4 * MINUTE))
    assert ends(task.pipe("s2", metric(CLOSE))) == [("s1", "cpu_usage", 0)]
    assert ends(task.pipe("s2", metric(11 * MINUTE))) == [
        ("s1", "cpu_usage", 5 * MINUTE),
        ("s2", "cpu_usage", 5 * MINUTE),
    ]
