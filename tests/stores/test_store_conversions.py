"""A converted store has the rows that it would have if it had been declared this way from the start."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forebay.stores import (
    KeyValueStore,
    LruStore,
    SessionStore,
    TimestampedKeyValueStore,
    TtlKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from forebay.stores.disk import DiskTable
from forebay.stores.values import Stamped
from forebay.stores.versioned import Version
from forebay.testing.cell import Cell
from tests.stores.upgrading import Task, cell

HOUR = 3_600_000

PLAIN = KeyValueStore("prices", Cell)
TIMESTAMPED = TimestampedKeyValueStore("prices", Cell)


def versioned_store(history_retention_ms: int = HOUR) -> VersionedKeyValueStore[Cell]:
    return VersionedKeyValueStore("prices", Cell, history_retention_ms=history_retention_ms)


def plain_rows() -> Task:
    task = Task()
    store = task.open(PLAIN)
    store.put("soup", cell(1))
    store.put("soup\0of the day", cell(2))
    task.commit()
    return task


def timestamped_rows() -> Task:
    task = Task()
    store = task.open(TIMESTAMPED)
    store.put("late", cell(1), 9 * HOUR)
    store.put("early", cell(2), HOUR)
    task.commit()
    return task


def versions(seed: int, count: int = 200) -> list[tuple[str, Cell | None, int]]:
    """Return (key, value, timestamp) of random versions and tombstones over ten hours, by time."""
    draw = random.Random(seed)
    times = sorted(draw.sample(range(10 * HOUR), count))
    return [(f"k{draw.randrange(9)}", None if draw.random() < 0.3 else cell(n), ts) for n, ts in enumerate(times)]


def versioned_rows(entries: list[tuple[str, Cell | None, int]], history_retention_ms: int) -> Task:
    task = Task()
    store = task.open(versioned_store(history_retention_ms))
    for entry in entries:
        store.put(*entry)
    task.commit()
    return task


def test_plain_values_become_versions_at_the_tasks_stream_time() -> None:
    task = plain_rows()
    store = task.convert(versioned_store(), stream_time=500)
    assert store.get("soup") == Version(cell(1), 500, None)
    assert store.get("soup\0of the day", 500) == Version(cell(2), 500, None)
    assert store.get("soup", 499) is None
    assert task.converted == [(2, 2, 0)]


def test_values_of_a_task_without_stream_time_become_versions_at_zero() -> None:
    assert plain_rows().convert(versioned_store(), stream_time=-1).get("soup") == Version(cell(1), 0, None)


def test_timestamped_values_become_versions_at_their_timestamps_however_old() -> None:
    store = timestamped_rows().convert(versioned_store(), stream_time=99 * HOUR)
    assert store.get("early") == Version(cell(2), HOUR, None)
    assert store.get("late") == Version(cell(1), 9 * HOUR, None)
    assert store.stream_time == 9 * HOUR


def test_a_converted_store_equals_one_that_was_versioned_from_the_start() -> None:
    converted = timestamped_rows()
    converted.convert(versioned_store())
    assert converted.rows() == versioned_rows([("early", cell(2), HOUR), ("late", cell(1), 9 * HOUR)], HOUR).rows()


def test_versions_are_converted_to_the_latest_plain_value_of_each_key() -> None:
    entries = [("a", cell(1), 10), ("a", cell(2), 20), ("b", cell(3), 30), ("b", None, 40), ("c", cell(5), 50)]
    task = versioned_rows(entries, HOUR)
    store = task.convert(PLAIN)
    assert dict(store.all()) == {"a": cell(2), "c": cell(5)}
    assert task.converted == [(5, 2, 3)]


def test_the_indexes_of_versions_are_deleted_with_them() -> None:
    task = versioned_rows(versions(1), HOUR)
    store = task.convert(PLAIN)
    other = Task()
    fresh = other.open(PLAIN)
    for key, value in store.all():
        fresh.put(key, value)
    other.commit()
    assert task.rows() == other.rows()


def test_a_table_on_disk_holds_the_same_rows_afterwards(tmp_path: Path) -> None:
    in_memory, on_disk = Task(), Task(DiskTable(str(tmp_path), "prices", 2 << 20))
    for task in (in_memory, on_disk):
        store = task.open(versioned_store())
        for entry in versions(4):
            store.put(*entry)
        task.commit()
        task.convert(TIMESTAMPED)
        task.convert(versioned_store(2 * HOUR))
    assert on_disk.rows() == in_memory.rows()
    assert on_disk.recorded_kind("prices") == f"versioned history_retention_ms={2 * HOUR}"
    on_disk.table.close()


def test_versions_converted_to_timestamped_values_keep_their_timestamps() -> None:
    entries = [("a", cell(1), 10), ("a", cell(2), 20), ("b", cell(3), 30), ("b", None, 40)]
    assert dict(versioned_rows(entries, HOUR).convert(TIMESTAMPED).all()) == {"a": Stamped(cell(2), 20)}


def test_plain_and_timestamped_values_can_be_converted_into_each_other() -> None:
    task = plain_rows()
    assert task.convert(TIMESTAMPED, stream_time=7).get("soup") == Stamped(cell(1), 7)
    assert task.convert(PLAIN).get("soup") == cell(1)
    assert task.rows() == plain_rows().rows()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("retention_ms", [0, HOUR // 4, HOUR, 3 * HOUR], ids=["none", "shorter", "same", "longer"])
def test_with_another_history_retention_every_read_within_it_is_as_before(seed: int, retention_ms: int) -> None:
    entries = versions(seed)
    old = Task()
    before = old.open(versioned_store())
    for entry in entries:
        before.put(*entry)
    old.commit()
    task = versioned_rows(entries, HOUR)
    store = task.convert(versioned_store(retention_ms))
    now = store.stream_time
    assert now == before.stream_time == entries[-1][2]
    retained = min(retention_ms, HOUR)
    for key in sorted({key for key, _, _ in entries}):
        assert store.get(key) == before.get(key)
        for as_of in range(now - retained, now + 1, max(1, retained // 50)):
            assert store.get(key, as_of) == before.get(key, as_of)


def test_with_a_shorter_history_retention_older_versions_are_dropped() -> None:
    task = versioned_rows(versions(2), 9 * HOUR)
    store = task.convert(versioned_store(HOUR))
    ((read, retained, dropped),) = task.converted
    assert (read, retained + dropped) == (200, 200)
    assert dropped > 100
    key, _, timestamp = next(entry for entry in versions(2) if entry[1] is not None)
    assert store.get(key, timestamp) is None


def test_later_puts_still_purge_after_a_change_of_history_retention() -> None:
    task = versioned_rows(versions(3), 9 * HOUR)
    store = task.convert(versioned_store(HOUR))
    for number in range(20):
        store.put("k0", cell(number), (10 + number) * HOUR)
        task.commit()
    held = {key: list(store.get_range(key)) for key, _, _ in versions(3)}
    assert [len(item) for key, item in held.items() if key != "k0"] == [
        int(store.get(key) is not None) for key in held if key != "k0"
    ]
    assert len(held["k0"]) < 6


def window(retention_ms: int) -> WindowStore[Cell]:
    return WindowStore("w", Cell, size_ms=10, retention_ms=retention_ms)


def window_rows() -> Task:
    task = Task()
    store = task.open(window(640))
    for start in range(0, 2_000, 10):
        store.put("k", cell(start), start)
    task.commit()
    return task


def test_windows_survive_a_longer_retention_and_late_windows_still_expire() -> None:
    task = window_rows()
    store = task.convert(window(6_400))
    starts = [entry.start for entry in store.all()]
    assert starts[-1] == 1_990
    assert set(range(1_360, 2_000, 10)) <= set(starts)
    assert store.put("late", cell(1), 100)
    store.put("k", cell(0), 20_000)
    task.commit()
    assert [row for row in task.rows() if row.startswith(b"w\0")] == [
        row for row in task.rows() if row.startswith(b"w\0k")
    ]
    assert len([row for row in task.rows() if row.startswith(b"w\0")]) == 1


def test_windows_past_a_shorter_retention_are_hidden_and_deleted_by_the_next_put() -> None:
    task = window_rows()
    store = task.convert(window(100))
    assert [entry.start for entry in store.all()] == list(range(1_900, 2_000, 10))
    store.put("k", cell(0), 1_990)
    task.commit()
    assert len([row for row in task.rows() if row.startswith(b"w\0")]) == 10


def session(retention_ms: int) -> SessionStore[Cell]:
    return SessionStore("s", Cell, retention_ms=retention_ms)


def session_rows() -> Task:
    task = Task()
    store = task.open(session(640))
    for end in range(0, 2_000, 10):
        store.put("k", end, end, cell(end))
    task.commit()
    return task


def test_sessions_survive_a_longer_retention_and_late_sessions_still_expire() -> None:
    task = session_rows()
    store = task.convert(session(6_400))
    assert set(range(1_360, 2_000, 10)) <= {entry.end for entry in store.all()}
    assert store.put("late", 100, 100, cell(1))
    store.put("k", 20_000, 20_000, cell(0))
    task.commit()
    assert len([row for row in task.rows() if row.startswith(b"s\0")]) == 1


def test_sessions_past_a_shorter_retention_are_hidden_and_deleted_by_the_next_put() -> None:
    task = session_rows()
    store = task.convert(session(100))
    assert [entry.end for entry in store.all()] == list(range(1_900, 2_000, 10))
    store.put("k", 1_990, 1_990, cell(0))
    task.commit()
    assert len([row for row in task.rows() if row.startswith(b"s\0")]) <= 11


@pytest.mark.parametrize("ttl_ms", [100, 10_000], ids=["shorter", "longer"])
def test_entries_with_another_ttl_expire_by_it_and_the_next_expiry_is_known(ttl_ms: int) -> None:
    task = Task()
    store = task.open(TtlKeyValueStore("t", Cell, 1_000))
    task.clock.closing_time = 50
    store.put("k", cell(1))
    task.commit()
    store = task.convert(TtlKeyValueStore("t", Cell, ttl_ms))
    assert store.next_expiry() in (1_050, 50 + ttl_ms)
    task.clock.closing_time = 49 + ttl_ms
    store.expire()
    assert store.get("k") == cell(1)
    assert store.next_expiry() == 50 + ttl_ms
    task.clock.closing_time = 50 + ttl_ms
    assert store.expire() == 1
    task.commit()
    assert not [row for row in task.rows() if row.startswith(b"t\0")]


def test_an_lru_store_with_fewer_entries_drops_those_not_used() -> None:
    task = Task()
    store = task.open(LruStore("l", Cell, 5))
    for key in "abcde":
        store.put(key, cell(1))
    store.get("a")
    task.commit()
    store = task.convert(LruStore("l", Cell, 2))
    assert [key for key, _ in store.all()] == ["a", "e"]
    assert task.converted == [(5, 2, 3)]
    store.put("f", cell(1))
    assert [key for key, _ in store.all()] == ["a", "f"]
