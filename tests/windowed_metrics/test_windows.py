"""A measurement belongs to one window of its server and metric: [start, start + size)."""

from tests.windowed_metrics.harness import MINUTE, SECOND, START, driver, metric, pipe, states
from windowed_metrics.model import WindowKey, WindowSpan


def test_a_window_covers_five_minutes_from_a_multiple_of_five_minutes() -> None:
    window = pipe(driver(), 7 * MINUTE).window
    assert window == WindowSpan(
        START + 5 * MINUTE,
        START + 10 * MINUTE,
        5 * MINUTE,
        0,
        WindowKey("s1", "cpu_usage", START + 5 * MINUTE),
    )


def test_the_end_belongs_to_the_next_window() -> None:
    task = driver()
    assert pipe(task, 5 * MINUTE - 1).window.start_timestamp == START
    assert pipe(task, 5 * MINUTE).window.start_timestamp == START + 5 * MINUTE


def test_window_size_is_a_setting() -> None:
    window = pipe(driver(window_ms=10 * SECOND), 25 * SECOND).window
    assert (window.start_timestamp, window.end_timestamp) == (START + 20 * SECOND, START + 30 * SECOND)
    assert window.duration_ms == 10 * SECOND


def test_servers_and_metrics_have_windows_of_their_own() -> None:
    task = driver()
    for server, name in (("s1", "cpu_usage"), ("s1", "memory_usage"), ("s2", "cpu_usage"), ("s1", "cpu_usage")):
        task.pipe(server, metric(0, name=name))
    assert {key: state.count for key, state in states(task).items()} == {
        ("s1", "cpu_usage", 0): 2,
        ("s1", "memory_usage", 0): 1,
        ("s2", "cpu_usage", 0): 1,
    }


def test_names_containing_separators_are_not_confused() -> None:
    task = driver()
    names = [("a:b", "c"), ("a", "b:c"), ("a", "b\0c"), ("a\0b", "c")]
    for server, name in names:
        assert task.pipe(server, metric(0, name=name))[0].value.statistics.count == 1
    assert sorted(states(task)) == sorted((server, name, 0) for server, name in names)
    keys = [output.value.window.window_key for output in task.outputs]
    assert keys == [WindowKey(server, name, START) for server, name in names]


def test_the_actual_duration_is_the_span_of_the_events() -> None:
    task = driver()
    pipe(task, 90 * SECOND)
    assert pipe(task, 100 * SECOND).window.actual_duration_ms == 10 * SECOND
    assert pipe(task, 30 * SECOND).window.actual_duration_ms == 70 * SECOND


def test_the_window_of_the_earliest_time_begins_at_zero() -> None:
    window = pipe(driver(), 0, timestamp=1).window
    assert (window.start_timestamp, window.end_timestamp) == (0, 5 * MINUTE)
