"""Every operator has the same results and rows on both backends, regardless of where commits divide its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import (
    Deduplicate,
    Emission,
    GlobalTable,
    GlobalTableJoin,
    Join,
    LatestByTimestamp,
    SessionAggregate,
    SlidingAggregate,
    StreamAggregate,
    StreamStreamJoin,
    StreamTableJoin,
    Suppress,
    TableAggregate,
    TableTableJoin,
    UntilTimeLimit,
    WindowAggregate,
    reducing,
)
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import hopping
from forebay.time.sessions import SessionWindows
from forebay.time.windows import SlidingWindows, within
from tests.operators.cells import append, empty, join_texts, pair

pytestmark = pytest.mark.long

Process = Callable[[str, str, Cell, int, int], Any]
"""Called with side (L, R), key, value, timestamp and closing time."""


def window(bench: Bench) -> Process:
    store = bench.open(WindowStore("w", Cell, size_ms=10, retention_ms=15))
    aggregate = WindowAggregate(store, hopping(10, 4, grace_ms=5), empty, append, emission=Emission.BOTH)
    return lambda _, key, value, ts, now: (aggregate.process(key, value, ts, now), aggregate.next_close())


def session(bench: Bench) -> Process:
    store = bench.open(SessionStore("s", Cell, retention_ms=15))
    aggregate = SessionAggregate(store, SessionWindows(10, 5), empty, append, join_texts, emission=Emission.BOTH)
    return lambda _, key, value, ts, now: (aggregate.process(key, value, ts, now), aggregate.next_close())


def sliding(bench: Bench) -> Process:
    store = bench.open(WindowStore("w", Cell, size_ms=10, retention_ms=27))
    windows = SlidingWindows(10, 5)
    aggregate = SlidingAggregate(store, windows, initial=empty, add=append, emission=Emission.BOTH)
    return lambda _, key, value, ts, now: aggregate.process(key, value, ts, now)


def suppress(bench: Bench) -> Process:
    held = Suppress(bench.open(SuppressBuffer("held", Cell)), UntilTimeLimit(6), max_records=2)
    return lambda side, key, value, ts, now: held.process(key, None, None if side == "R" else value, ts, now)


def stream_table(bench: Bench) -> Process:
    table = LatestByTimestamp(bench.open(VersionedKeyValueStore("t", Cell, history_retention_ms=20)))
    buffer = bench.open(JoinBuffer("waiting", Cell))
    join: StreamTableJoin[Cell, Cell, Cell] = StreamTableJoin(table, Join.LEFT, pair, buffer=buffer, grace_ms=7)
    return lambda side, key, value, ts, _: (join.process if side == "L" else table.update)(key, value, ts)


def stream_stream(bench: Bench) -> Process:
    left, right = (
        bench.open(WindowStore(name, Cell, size_ms=10, retention_ms=15, duplicates=Duplicates.KEEP)) for name in "lr"
    )
    one, other = (bench.open(JoinBuffer(f"{side}-waiting", Cell)) for side in ("left", "right"))
    windows = within(5, grace_ms=5)
    join = StreamStreamJoin(left, right, windows, Join.OUTER, pair, left_waiting=one, right_waiting=other)
    return lambda side, key, value, ts, now: (join.on_left if side == "L" else join.on_right)(key, value, ts, now)


def tables(bench: Bench) -> Process:
    left, right = (
        LatestByTimestamp(bench.open(VersionedKeyValueStore(name, Cell, history_retention_ms=10))) for name in "lr"
    )
    join: TableTableJoin[Cell, Cell, Cell] = TableTableJoin(left, right, Join.OUTER, pair)
    counts = TableAggregate(
        bench.open(TimestampedKeyValueStore("counts", Cell)),
        lambda _, value: (value.json[:1], value),
        empty,
        append,
        lambda _, value, total: Cell(total.json.replace(value.json, "", 1)),
    )

    def process(side: str, key: str, value: Cell, ts: int, _: int) -> Any:
        table, on = (left, join.on_left) if side == "L" else (right, join.on_right)
        return counts.process(on(table.update(key, value, ts)))

    return process


def stream(bench: Bench) -> Process:
    once = Deduplicate(bench.open(TtlKeyValueStore("seen", Cell, ttl_ms=10)), lambda key, _: key)
    rows = GlobalTable(bench.open(KeyValueStore("rows", Cell)))
    enrich = GlobalTableJoin(rows, Join.LEFT, lambda key, _: key, pair)
    fold = reducing(lambda one, two: join_texts("", one, two))
    total = StreamAggregate(bench.open(TimestampedKeyValueStore("total", Cell)), fold)

    def process(side: str, key: str, value: Cell, ts: int, now: int) -> Any:
        bench.clock.closing_time = now
        if side == "R":
            return rows.update(key, value)
        process = [item for record in once.process(key, value, ts) for item in enrich.process(key, *record[1:])]
        return [total.process(key, result, at) for _, result, at in process]

    return process


OPERATORS: dict[str, Callable[[Bench], Process]] = {
    "window aggregate": window,
    "session aggregate": session,
    "sliding aggregate": sliding,
    "suppress": suppress,
    "stream-table join": stream_table,
    "stream-stream join": stream_stream,
    "table join and aggregate": tables,
    "dedupe, enrichment, aggregate": stream,
}

RECORDS = st.lists(
    st.tuples(st.sampled_from("LR"), st.sampled_from(["a", "aa", "b"]), st.integers(-25, 12), st.booleans()),
    max_size=25,
)


@pytest.mark.parametrize("name", OPERATORS)
@settings(deadline=None, max_examples=60)
@given(records=RECORDS)
def test_both_backends_give_the_same_results_and_rows(name: str, records: list[tuple[str, str, int, bool]]) -> None:
    with open_bench(Backend.IN_MEMORY) as memory, open_bench(Backend.PERSISTENT) as disk:
        one, other, now = OPERATORS[name](memory), OPERATORS[name](disk), 0
        for number, (side, key, step, commits) in enumerate(records):
            ts = max(0, now + step)
            now = max(now, ts)
            record = (side, key, Cell(chr(65 + number)), ts, now)
            assert one(*record) == other(*record)
            memory.commit()
            if commits:
                disk.commit()
        disk.commit()
        assert list(memory.table.scan(b"")) == list(disk.table.scan(b""))
