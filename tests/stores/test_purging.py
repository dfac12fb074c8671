"""Expired rows are deleted in steps of bounded size until none is left, even if commits in between are rolled back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.stores import purge, ttl
from forebay.stores.keys import WIDTH
from forebay.stores.session import SessionStore
from forebay.stores.ttl import EXPIRED_AT_ONCE, TtlKeyValueStore
from forebay.stores.versioned import SHORTEST_SEGMENT_MS, VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

COUNT = 25


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "PURGED_AT_ONCE", 10)


def rows(bench: Bench, store: bytes) -> int:
    return sum(1 for _ in bench.table.scan(store + b"\0", store + b"\x01"))


def test_expired_rows_of_a_window_store_are_deleted_in_steps_of_ten(bench: Bench) -> None:
    store = bench.open(WindowStore("w", Cell, size_ms=1, retention_ms=640))
    for number in range(COUNT):
        store.put(f"k{number}", Cell("v"), 5)
    left = []
    for _ in range(4):
        store.put("clock", Cell("c"), 5 + 640)
        bench.commit()
        left.append(rows(bench, b"w") - 1)
    assert left == [15, 5, 0, 0]


def test_expired_rows_of_a_session_store_are_deleted_in_steps_of_ten(bench: Bench) -> None:
    store = bench.open(SessionStore("s", Cell, retention_ms=640))
    for number in range(COUNT):
        store.put(f"k{number}", 0, 5, Cell("v"))
    left = []
    for _ in range(4):
        store.put("clock", 0, 6 + 640, Cell("c"))
        bench.commit()
        left.append(rows(bench, b"s") - 1)
    assert left == [15, 5, 0, 0]


def test_keys_of_a_versioned_store_are_checked_in_steps_of_ten(bench: Bench) -> None:
    store = bench.open(VersionedKeyValueStore("v", Cell, history_retention_ms=0))
    for number in range(COUNT):
        store.put(f"k{number:02}", None, 5)
        store.put(f"k{number:02}", None, 5)
    left = []
    for _ in range(4):
        store.put("clock", Cell("c"), 9 * SHORTEST_SEGMENT_MS)
        bench.commit()
        left.append(rows(bench, b"v") - 1)
    assert left == [15, 5, 0, 0]


def test_expired_entries_of_a_ttl_store_are_deleted_in_steps_of_the_requested_size(bench: Bench) -> None:
    store = bench.open(TtlKeyValueStore("t", Cell, ttl_ms=10))
    bench.clock.closing_time = 0
    for number in range(COUNT):
        store.put(f"k{number}", Cell("v"))
    bench.clock.closing_time = 10
    assert [store.expire(10) for _ in range(4)] == [10, 10, 5, 0]
    assert store.next_expiry() is None


def test_entries_with_many_expiry_times_are_deleted_if_time_jumps(bench: Bench) -> None:
    store = bench.open(TtlKeyValueStore("t", Cell, ttl_ms=100))
    for number in range(COUNT):
        bench.clock.closing_time = number // 2
        store.put(f"k{number}", Cell("v"))
    bench.clock.closing_time = 1_000
    assert [(store.expire(10), store.next_expiry()) for _ in range(3)] == [(10, 105), (10, 110), (5, None)]
    assert rows(bench, b"t") == 0


def test_entries_that_release_0_2_missed_are_deleted_too(bench: Bench) -> None:
    store = bench.open(TtlKeyValueStore("t", Cell, ttl_ms=100))
    for number in range(COUNT):
        bench.clock.closing_time = number
        store.put(f"k{number}", Cell("v"))
    bench.clock.closing_time = 120
    forget(store, 5_000)
    store.put("k0", Cell("again"))
    bench.clock.closing_time = 10_000
    assert store.expire() == 5, "k0, and what was not due at the time of the put"


def forget(store: TtlKeyValueStore[Cell], until: int) -> None:
    """Set the first expiry time to the value that release 0.2 left after a jump of time, and reopen the store."""
    store._marks.set(ttl._FIRST, until)
    store._is_looked_through = False


def test_an_entry_put_while_older_ones_await_deletion_still_expires(bench: Bench) -> None:
    store = bench.open(TtlKeyValueStore("t", Cell, ttl_ms=1))
    bench.clock.closing_time = 0
    for number in range(EXPIRED_AT_ONCE + 1):
        store.put(f"k{number}", Cell("v"))
    bench.clock.closing_time = 1
    store.put("new", Cell("v"))
    assert (store.expire(), store.next_expiry()) == (1, 2)
    bench.clock.closing_time = 2
    assert (store.expire(), store.next_expiry()) == (1, None)


def test_a_purge_that_is_undone_happens_again(bench: Bench) -> None:
    store = bench.open(WindowStore("w", Cell, size_ms=1, retention_ms=640))
    store.put("k", Cell("v"), 5)
    bench.commit()
    store.put("clock", Cell("c"), 5 + 640)
    bench.roll_back()
    assert store.fetch_one("k", 5) is not None
    store.put("clock", Cell("c"), 5 + 640)
    bench.commit()
    assert rows(bench, b"w") == 1


def test_a_scan_of_rows_with_one_time_resumes_where_it_stopped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """All windows of a task begin at the same times, so a scan from the start would visit all deleted rows again."""
    store = bench.open(WindowStore("w", Cell, size_ms=1, retention_ms=640))
    for number in range(COUNT):
        store.put(f"k{number:02}", Cell("v"), 5)
    bench.commit()
    (index,) = (rows for rows in bench.stores.opened if rows.store.startswith("\x01starts"))
    begun: list[bytes] = []
    scan = index.scan

    def watch(start: bytes, end: bytes | None) -> Iterator[tuple[bytes, object]]:
        begun.append(start)
        return scan(start, end)

    monkeypatch.setattr(index, "scan", watch)
    for _ in range(3):
        store.put("clock", Cell("c"), 5 + 640)
    assert [start[WIDTH:][:3] for start in begun] == [b"", b"k10", b"k20"]
