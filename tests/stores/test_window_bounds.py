"""The window store's time bounds are exact to the millisecond on both sides."""

from __future__ import annotations

import pytest

from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

R = 100


@pytest.fixture
def store(bench: Bench) -> WindowStore[Cell]:
    return bench.open(WindowStore("metrics", Cell, size_ms=10, retention_ms=R))


def v(text: str) -> Cell:
    return Cell(text)


def test_an_entry_expires_at_the_retention(store: WindowStore[Cell]) -> None:
    store.put("k", v("a"), 50)
    store.put("clock", v("c"), 50 + R - 1)
    assert [entry.start for entry in store.fetch("k", 0, 1_000)] == [50]
    store.put("clock", v("c"), 50 + R)
    assert store.fetch_one("k", 50) is None
    assert list(store.fetch("k", 0, 1_000)) == []
    assert [entry.key for entry in store.all()] == ["clock", "clock"]


def test_a_put_at_the_retention_is_refused_and_one_ms_later_accepted(store: WindowStore[Cell]) -> None:
    store.put("clock", v("c"), 1_000)
    assert not store.put("k", v("a"), 1_000 - R)
    assert store.dropped_total == 1
    assert store.put("k", v("a"), 1_000 - R + 1)
    assert store.dropped_total == 1


def test_fetch_takes_both_bounds_of_the_start(store: WindowStore[Cell]) -> None:
    for start in (9, 10, 20, 21):
        store.put("k", v(str(start)), start)
    store.put("kk", v("other"), 15)
    assert [entry.start for entry in store.fetch("k", 10, 20)] == [10, 20]
    assert [entry.start for entry in store.backward_fetch("k", 10, 20)] == [20, 10]
    assert [entry.start for entry in store.fetch_all(10, 20)] == [10, 15, 20]
    assert [entry.start for entry in store.backward_fetch_all(10, 20)] == [20, 15, 10]


def test_fetch_key_range_takes_both_bounds_of_key_and_start(store: WindowStore[Cell]) -> None:
    for key in ("a", "b", "c", "d"):
        for start in (9, 10, 20, 21):
            store.put(key, v(""), start)
    rows = [(entry.key, entry.start) for entry in store.fetch_key_range("b", "c", 10, 20)]
    assert rows == [("b", 10), ("c", 10), ("b", 20), ("c", 20)]
    assert list(store.backward_fetch_key_range("b", "c", 10, 20)) == list(store.fetch_key_range("b", "c", 10, 20))[::-1]
    assert [e.key for e in store.fetch_key_range("c", None, 9, 9)] == ["c", "d"]
    assert [e.key for e in store.fetch_key_range(None, "b", 9, 9)] == ["a", "b"]
    assert [e.key for e in store.backward_fetch_key_range(None, None, 9, 9)] == ["d", "c", "b", "a"]


def test_a_key_range_from_above_to_is_empty_with_a_warning(
    store: WindowStore[Cell], caplog: pytest.LogCaptureFixture
) -> None:
    store.put("b", v(""), 1)
    assert list(store.fetch_key_range("c", "a", 0, 10)) == []
    assert "store metrics" in caplog.text


def test_replacing_keeps_one_entry_and_null_deletes_it(store: WindowStore[Cell]) -> None:
    store.put("k", v("a"), 10, 11)
    store.put("k", v("b"), 10, 12)
    assert [(e.value, e.timestamp) for e in store.all()] == [(v("b"), 12)]
    store.put("k", None, 10)
    assert list(store.all()) == []


def test_duplicates_are_kept_in_order_and_null_does_nothing(bench: Bench) -> None:
    store = bench.open(WindowStore("clicks", Cell, size_ms=10, retention_ms=R, duplicates=Duplicates.KEEP))
    for text in ("a", "b", "a"):
        store.put("k", v(text), 10)
        bench.commit()
    store.put("k", None, 10)
    assert [e.value.json for e in store.fetch("k", 0, 99)] == ["a", "b", "a"]
    assert [e.value.json for e in store.backward_fetch("k", 0, 99)] == ["a", "b", "a"]
    assert [e.value.json for e in store.all()] == ["a", "b", "a"]
    result = store.fetch_one("k", 10)
    assert result is not None
    assert result.value == v("a")


def test_expired_entries_are_deleted_in_the_changelog(store: WindowStore[Cell], bench: Bench) -> None:
    store.put("k", v("a"), 10)
    bench.commit()
    store.put("clock", v("c"), 9 + R)
    assert all(value is not None for key, value in bench.commit() if key.startswith(b"metrics\0"))
    store.put("clock", v("c"), 10 + R)
    deleted = [key for key, value in bench.commit() if key.startswith(b"metrics\0") and value is None]
    assert len(deleted) == 1
    assert deleted[0].startswith(b"metrics\0k")


def test_an_expired_entry_is_not_shown_while_its_row_is_still_there(bench: Bench) -> None:
    retention = 6_400
    store = bench.open(WindowStore("metrics", Cell, size_ms=10, retention_ms=retention))
    store.put("k", v("a"), 50)
    store.put("clock", v("c"), 49 + retention)
    assert [entry.key for entry in store.fetch("k", 0, 50)] == ["k"]
    assert [entry.key for entry in store.fetch_key_range("k", "k", 0, 50)] == ["k"]
    assert store.fetch_one("k", 50) is not None
    store.put("clock", v("c"), 50 + retention)
    assert any(key.startswith(b"metrics\0k") for key, value in bench.commit() if value is not None)
    assert store.fetch_one("k", 50) is None
    assert list(store.fetch("k", 0, 50)) == list(store.backward_fetch("k", 0, 50)) == []
    assert list(store.fetch_all(0, 50)) == list(store.backward_fetch_all(0, 50)) == []
    assert list(store.fetch_key_range("k", "k", 0, 50)) == []
