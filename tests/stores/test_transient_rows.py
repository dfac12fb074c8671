"""A row that is created and deleted within a commit appears neither in the changes nor in scans."""

from __future__ import annotations

from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell


def v(text: str) -> Cell:
    return Cell(text)


def test_a_row_put_and_deleted_is_no_change(bench: Bench) -> None:
    store = bench.open(KeyValueStore("s", Cell))
    store.put("a", v("1"))
    store.put("b", v("2"))
    store.delete("a")
    assert [key for key, _ in store.all()] == ["b"]
    assert [key for key, _ in bench.commit()] == [b"s\0b"]


def test_deleting_an_existing_row_is_a_change(bench: Bench) -> None:
    store = bench.open(KeyValueStore("s", Cell))
    store.put("a", v("1"))
    bench.commit()
    store.put("a", v("2"))
    store.delete("a")
    assert store.get("a") is None
    assert bench.commit() == [(b"s\0a", None)]


def test_deleting_a_missing_row_is_no_change(bench: Bench) -> None:
    store = bench.open(KeyValueStore("s", Cell))
    store.put("a", None)
    assert bench.commit() == []


def test_undoing_the_deletion_brings_the_row_and_its_change_back(bench: Bench) -> None:
    store = bench.open(KeyValueStore("s", Cell))
    store.put("a", v("1"))
    bench.journal.commit()
    assert [key for key, _ in store.all()] == ["a"]
    store.delete("a")
    store.put("a", v("2"))
    store.delete("a")
    bench.roll_back()
    assert [(key, value) for key, value in store.all()] == [("a", v("1"))]
    assert len(bench.commit()) == 1


def test_rolling_back_a_put_and_its_deletion_leaves_no_change(bench: Bench) -> None:
    store = bench.open(KeyValueStore("s", Cell))
    assert list(store.all()) == []
    store.put("a", v("1"))
    store.delete("a")
    bench.roll_back()
    assert store.get("a") is None
    assert list(store.all()) == []
    assert bench.commit() == []


def test_a_session_that_grows_by_a_thousand_records_in_a_batch_is_two_changes(bench: Bench) -> None:
    store = bench.open(SessionStore("s", Cell, retention_ms=10_000))
    for end in range(1_000):
        store.merge("k", list(store.find_sessions("k", end - 10, end)), 0, end, v(str(end)))
    assert sum(key.startswith((b"s\0", b"\1ends\0s\0\x80")) for key, _ in bench.commit()) == 2
    assert [s.end for s in store.fetch("k")] == [999]
