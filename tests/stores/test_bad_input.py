"""Wrong use of a store is rejected at the start or at the causing record. Each error names the store and the remedy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from forebay.operators import (
    Join,
    LatestByOffset,
    LatestByTimestamp,
    SessionAggregate,
    SlidingAggregate,
    StreamStreamJoin,
    StreamTableJoin,
    Suppress,
    UntilTimeLimit,
    WindowAggregate,
)
from forebay.processor import Context, Processor
from forebay.processor.bound_stores import declared_stores
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.keys import NullKeyError
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell
from forebay.time.sessions import SessionWindows
from forebay.time.windows import SlidingWindows, hopping, tumbling, within
from tests.operators.cells import append, empty, join_texts, pair

NO_KEY: Any = None


def test_null_keys(bench: Bench) -> None:
    remedy = "the key is null; drop such records or give them a key before the store"
    stores: dict[str, Callable[[], object]] = {
        "k": lambda: bench.open(KeyValueStore("k", Cell)).put(NO_KEY, Cell("x")),
        "t": lambda: bench.open(TimestampedKeyValueStore("t", Cell)).get(NO_KEY),
        "w": lambda: bench.open(WindowStore("w", Cell, size_ms=1, retention_ms=1)).put(NO_KEY, Cell("x"), 0),
        "s": lambda: bench.open(SessionStore("s", Cell, retention_ms=1)).put(NO_KEY, 0, 0, Cell("x")),
        "v": lambda: bench.open(VersionedKeyValueStore("v", Cell, history_retention_ms=0)).put(NO_KEY, Cell("x"), 0),
    }
    for name, put in stores.items():
        with pytest.raises(NullKeyError, match=f"store {name}: {remedy}"):
            put()


def test_from_above_to_is_empty_and_warned_of(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    store = bench.open(KeyValueStore("k", Cell))
    store.put("b", Cell("x"))
    versions = bench.open(VersionedKeyValueStore("v", Cell, history_retention_ms=10))
    versions.put("b", Cell("x"), 5)
    with caplog.at_level(logging.WARNING):
        assert list(store.range("c", "a")) == []
        assert list(versions.get_range("b", 9, 1)) == []
    assert [record.getMessage() for record in caplog.records] == [
        "store k: range from 'c' to 'a' is empty: from is greater than to",
        "store v: the range of versions from 9 to 1 is empty: from is later than to",
    ]


def test_negative_times(bench: Bench) -> None:
    with pytest.raises(ValueError, match=r"store v: history_retention_ms is -1 ms; specify at least 0 ms"):
        VersionedKeyValueStore("v", Cell, history_retention_ms=-1)
    with pytest.raises(ValueError, match=r"store w: size_ms is -1 ms; specify at least 1 ms"):
        WindowStore("w", Cell, size_ms=-1, retention_ms=1)
    with pytest.raises(ValueError, match=r"store s: retention_ms is -1 ms; specify at least 1 ms"):
        SessionStore("s", Cell, retention_ms=-1)
    with pytest.raises(ValueError, match=r"a grace of -1 ms: specify at least 0 ms"):
        tumbling(10, grace_ms=-1)
    with pytest.raises(ValueError, match=r"windows of 10 ms can't advance by -1 ms: use 1 to 10 ms"):
        hopping(10, -1)
    with pytest.raises(ValueError, match=r"store v: the timestamp -1 of 'k' is negative"):
        bench.open(VersionedKeyValueStore("v", Cell, history_retention_ms=0)).put("k", Cell("x"), -1)


def test_retention_shorter_than_the_window() -> None:
    with pytest.raises(ValueError, match=r"store w: retention_ms 9 is shorter than .* 10 ms; specify at least"):
        WindowStore("w", Cell, size_ms=10, retention_ms=9)
    window = WindowStore("w", Cell, size_ms=10, retention_ms=14)
    with pytest.raises(ValueError, match=r"store w: retention_ms 14 .*; specify at least 15 ms"):
        WindowAggregate(window, tumbling(10, grace_ms=5), empty, append)
    session = SessionStore("s", Cell, retention_ms=14)
    with pytest.raises(ValueError, match=r"store s: retention_ms 14 .*; specify at least 15 ms"):
        SessionAggregate(session, SessionWindows(10, 5), empty, append, join_texts)
    window_store = WindowStore("r", Cell, size_ms=10, retention_ms=20, duplicates=Duplicates.KEEP)
    with pytest.raises(ValueError, match=r"store w: retention_ms 14 .*; specify at least 27 ms"):
        SlidingAggregate(window, SlidingWindows(10, 5), initial=empty, add=append)
    with pytest.raises(ValueError, match=r"store r: retention_ms 20 .*; specify at least 25 ms"):
        StreamStreamJoin(window_store, window_store, within(10, grace_ms=5), Join.INNER, pair)


def test_grace_above_retention() -> None:
    table = LatestByTimestamp(VersionedKeyValueStore("prices", Cell, history_retention_ms=10))
    with pytest.raises(ValueError, match=r"store prices: .* grace of 11 ms .* history_retention_ms of at least 11"):
        StreamTableJoin(table, Join.INNER, pair, buffer=JoinBuffer("waiting", Cell), grace_ms=11)
    plain = LatestByOffset(TimestampedKeyValueStore("prices", Cell))
    with pytest.raises(ValueError, match=r"store prices: .* make the table a VersionedKeyValueStore, or join without"):
        StreamTableJoin(plain, Join.INNER, pair, buffer=JoinBuffer("waiting", Cell), grace_ms=1)


def test_suppress_on_a_versioned_table() -> None:
    table = LatestByTimestamp(VersionedKeyValueStore("prices", Cell, history_retention_ms=10))
    with pytest.raises(ValueError, match=r"store prices: a versioned table can't be suppressed: .* or make the table"):
        Suppress(SuppressBuffer("held", Cell), UntilTimeLimit(5), table=table)


class Twice(Processor[Cell, Cell]):
    one = KeyValueStore("totals", Cell)
    other = TimestampedKeyValueStore("totals", Cell)

    def process(self, event: Cell, ctx: Context[Cell]) -> None:
        raise NotImplementedError


def test_a_store_name_used_twice() -> None:
    with pytest.raises(ValueError, match=r"Twice declares the store 'totals' twice: give each store its own name"):
        list(declared_stores(Twice))
