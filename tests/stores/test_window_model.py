"""On both backends, the window store behaves like a simple list of entries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates, WindowEntry
from forebay.testing.bench import Backend, open_bench
from forebay.testing.cell import Cell
from tests.stores.driving import run

pytestmark = pytest.mark.long

KEYS = st.sampled_from(["a", "aa", "a\0", "a\0\1", "\uffff", "\U0001f600"])
ENDS = st.none() | KEYS
TIMES = st.integers(0, 100)
VALUES = st.none() | st.integers(0, 9).map(lambda n: Cell(str(n)))
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), KEYS, VALUES, TIMES),
    st.tuples(st.just("put"), KEYS, VALUES, TIMES),
    st.tuples(st.sampled_from(["fetch", "backward_fetch"]), KEYS, TIMES, TIMES),
    st.tuples(st.sampled_from(["fetch_key_range", "backward_fetch_key_range"]), ENDS, ENDS, TIMES, TIMES),
    st.tuples(st.sampled_from(["fetch_all", "backward_fetch_all"]), TIMES, TIMES),
    st.tuples(st.sampled_from(["all", "backward_all"])),
    st.tuples(st.just("commit")),
    st.tuples(st.just("undo"), KEYS, VALUES, TIMES),
)


class Model:
    """Entries in a list. Expired entries are hidden, never deleted."""

    def __init__(self, retention: int, duplicates: Duplicates) -> None:
        self.retention, self.duplicates, self.latest = retention, duplicates, -(10**9)
        self.entries: list[WindowEntry[Cell]] = []

    def put(self, key: str, value: Cell | None, start: int) -> bool:
        self.latest = max(self.latest, start)
        if start <= self.latest - self.retention:
            return False
        if self.duplicates is Duplicates.REPLACE:
            self.entries = [e for e in self.entries if (e.key, e.start) != (key, start)]
        if value is not None:
            self.entries.append(WindowEntry(key, start, value, start))
        return True

    def read(self, key_from: str | None, key_to: str | None, low: int, high: int) -> list[WindowEntry[Cell]]:
        results = [
            e
            for e in self.entries
            if (key_from is None or key_from <= e.key)
            and (key_to is None or e.key <= key_to)
            and low <= e.start <= high
            and e.start > self.latest - self.retention
        ]
        return sorted(results, key=lambda e: (e.start, e.key))

    def run(self, name: str, *arguments: Any) -> Any:
        if name == "put":
            return self.put(*arguments)
        kind = name.removeprefix("backward_")
        if kind == "fetch":
            result = self.read(arguments[0], *arguments)
        elif kind == "fetch_key_range":
            result = self.read(*arguments)
        else:
            result = self.read(None, None, *(arguments or (0, 100)))
        return result[::-1] if name.startswith("backward_") else result


@settings(deadline=None, max_examples=150)
@given(
    duplicates=st.sampled_from(Duplicates),
    retention=st.sampled_from([5, 30, 500]),
    operations=st.lists(OPERATIONS, max_size=40),
)
def test_the_store_behaves_like_a_list_of_entries(
    duplicates: Duplicates, retention: int, operations: list[tuple[Any, ...]]
) -> None:
    declared = WindowStore("windows", Cell, size_ms=5, retention_ms=retention, duplicates=duplicates)
    with open_bench(Backend.IN_MEMORY) as memory, open_bench(Backend.PERSISTENT) as disk:
        model, stores = Model(retention, duplicates), [(memory.open(declared), memory), (disk.open(declared), disk)]
        for name, *arguments in operations:
            expected = None if name in ("commit", "undo") else model.run(name, *arguments)
            for store, bench in stores:
                assert run(store, bench, name, *arguments) == expected, (name, arguments)
        memory.commit()
        disk.commit()
        assert list(memory.table.scan(b"")) == list(disk.table.scan(b""))
        rows = sum(1 for _ in memory.table.scan(b"windows\0", b"windows\x01"))
        assert rows == len(list(stores[0][0].all()))
