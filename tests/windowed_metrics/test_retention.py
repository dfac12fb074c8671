"""Windows that are older than the retention are deleted from the store, and their rows from its changelog."""

from tests.windowed_metrics.harness import MINUTE, STORE, driver, metric, pipe, states
from windowed_metrics.settings import EmitResults

HOUR = 60 * MINUTE


def rows(task: object) -> int:
    """Return the number of rows in the store's changelog that are not tombstones."""
    (table,) = task.sub_topologies[0].tables  # type: ignore[attr-defined]
    return sum(1 for _ in table.scan(f"{STORE}\0".encode(), f"{STORE}\1".encode()))


def test_a_window_is_kept_while_it_starts_less_than_the_retention_before_the_newest() -> None:
    task = driver()
    pipe(task, 0)
    pipe(task, HOUR - 5 * MINUTE)
    assert ("s1", "cpu_usage", 0) in states(task)
    pipe(task, HOUR)
    assert sorted(states(task)) == [("s1", "cpu_usage", HOUR - 5 * MINUTE), ("s1", "cpu_usage", HOUR)]


def test_the_rows_are_deleted() -> None:
    task = driver()
    for minute in range(0, 600, 5):
        pipe(task, minute * MINUTE)
    assert rows(task) == len(states(task)) == 12


def test_retention_is_a_setting() -> None:
    task = driver(retention_ms=10 * MINUTE)
    for minute in range(0, 60, 5):
        pipe(task, minute * MINUTE)
    assert rows(task) == len(states(task)) == 2


def test_window_that_closes_and_expires_at_once_emits_its_final_result_first() -> None:
    task = driver(emit_results=EmitResults.FINAL, retention_ms=6 * MINUTE)
    task.pipe("s1", metric(0))
    (final,) = task.pipe("s1", metric(24 * HOUR))
    assert final.value.processing_info.window_final
    assert list(states(task)) == [("s1", "cpu_usage", 24 * HOUR)]


def test_state_does_not_grow_after_a_day() -> None:
    """A task's table (windows, index, ids, timers) is as large after one day as after two."""
    task = driver(emit_results=EmitResults.BOTH)
    (table,) = task.sub_topologies[0].tables
    sizes = []
    for day in range(2):
        for minute in range(0, 24 * 60, 10):
            task.pipe("s1", metric(day * 24 * HOUR + minute * MINUTE, metric_id=f"{day} {minute}"))
        sizes.append((len(table), table.size_bytes // 100))
    assert sizes[0] == sizes[1]
