"""On both backends, the versioned store behaves like a simple dict of versions, also with late records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.stores.versioned import NOT_PUT, NotPut, Order, Put, Version, VersionedKeyValueStore
from forebay.testing.bench import Backend, open_bench
from forebay.testing.cell import Cell
from tests.stores.driving import run

pytestmark = pytest.mark.long

KEYS = st.sampled_from(["a", "aa", "a\0", "\uffff", "\U0001f600"])
TIMES = st.integers(0, 120)
BOUNDS = st.none() | st.integers(-5, 130)
VALUES = st.none() | st.integers(0, 9).map(lambda n: Cell(str(n)))
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), KEYS, VALUES, TIMES),
    st.tuples(st.just("put"), KEYS, VALUES, TIMES),
    st.tuples(st.just("delete"), KEYS, TIMES),
    st.tuples(st.just("get"), KEYS, st.none() | st.integers(-5, 130)),
    st.tuples(st.just("get_range"), KEYS, BOUNDS, BOUNDS, st.sampled_from(Order)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("undo"), KEYS, VALUES, TIMES),
)


class Model:
    """Versions in a dict, with every rule written out. Nothing is ever deleted."""

    def __init__(self, retention: int) -> None:
        self.retention, self.now, self.versions = retention, -1, dict[str, dict[int, Cell | None]]()

    def put(self, key: str, value: Cell | None, ts: int) -> Put | NotPut:
        if ts < self.now - self.retention:
            return NOT_PUT
        self.now = max(self.now, ts)
        versions = self.versions.setdefault(key, {})
        versions[ts] = value
        return Put(min((other for other in versions if other > ts), default=None))

    def rows(self, key: str) -> list[tuple[int, int | None, Cell | None]]:
        times = sorted(self.versions.get(key, {}))
        ends: list[int | None] = [*times[1:], None]
        return [(at, end, self.versions[key][at]) for at, end in zip(times, ends, strict=False)]

    def get(self, key: str, as_of: int | None) -> Version[Cell] | None:
        rows = self.rows(key)
        if as_of is not None:
            if as_of < self.now - self.retention:
                rows = rows[-1:]
            rows = [row for row in rows if row[0] <= as_of]
        if not rows or rows[-1][2] is None:
            return None
        return Version(rows[-1][2], rows[-1][0], rows[-1][1])

    def delete(self, key: str, ts: int) -> Version[Cell] | None:
        result = self.get(key, ts)
        return None if self.put(key, None, ts) is NOT_PUT else result

    def get_range(self, key: str, low: int | None, high: int | None, order: Order) -> list[Version[Cell]]:
        start, end = -(10**9) if low is None else low, 10**9 if high is None else high
        rows = self.rows(key)[-1:] if end < self.now - self.retention else self.rows(key)
        results = [
            Version(value, at, to)
            for at, to, value in rows
            if value is not None and start <= end and at <= end and (to is None or to > start)
        ]
        return results if order is Order.OLDEST_FIRST else results[::-1]


@settings(deadline=None, max_examples=150)
@given(retention=st.sampled_from([0, 1, 20, 60]), operations=st.lists(OPERATIONS, max_size=40))
def test_the_store_behaves_like_a_list_of_versions(retention: int, operations: list[tuple[Any, ...]]) -> None:
    declared = VersionedKeyValueStore("versions", Cell, history_retention_ms=retention)
    with open_bench(Backend.IN_MEMORY) as memory, open_bench(Backend.PERSISTENT) as disk:
        model, stores = Model(retention), [(memory.open(declared), memory), (disk.open(declared), disk)]
        for operation in operations:
            name, *arguments = operation
            expected = None if name in ("commit", "undo") else getattr(model, name)(*arguments)
            for store, bench in stores:
                assert run(store, bench, name, *arguments) == expected, operation
        memory.commit()
        disk.commit()
        assert list(memory.table.scan(b"")) == list(disk.table.scan(b""))


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(st.tuples(st.sampled_from("abc"), VALUES, st.integers(-200, 1_000)), max_size=80),
    retention=st.sampled_from([0, 300]),
)
def test_purging_old_versions_deletes_none_within_the_history_retention(
    steps: list[tuple[str, Cell | None, int]], retention: int
) -> None:
    """Time advances far enough for purges. Reads within the history retention still equal those of the model."""
    scale = 1_000
    with open_bench(Backend.IN_MEMORY) as bench:
        declared = VersionedKeyValueStore("versions", Cell, history_retention_ms=retention * scale)
        store, model = bench.open(declared), Model(retention * scale)
        for key, value, step in steps:
            ts = max(0, model.now + step * scale // 2)
            assert (store.put(key, value, ts) is NOT_PUT) == (model.put(key, value, ts) is NOT_PUT)
            bench.commit()
        for key in "abc":
            assert store.get(key) == model.get(key, None)
            for as_of in range(max(0, model.now - retention * scale), model.now + 1, 7 * scale):
                assert store.get(key, as_of) == model.get(key, as_of)
