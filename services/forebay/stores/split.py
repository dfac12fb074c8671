"""A table that consists of two tables, one of which has the rows of some stores."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from forebay.stores.materialized import store_of
from forebay.stores.table import NO_TAG, Change, Table


class SplitTable:
    """A table that consists of two tables (implements `Table`).

    Args:
        main: Table of the task's rows and of all other stores.
        other: Table of the rows of the stores in `names`.
        names: Names of stores.
    """

    def __init__(self, main: Table, other: Table, names: frozenset[bytes]) -> None:
        self._main = main
        self._other = other
        self._names = names

    @property
    def tag(self) -> bytes:
        # The tables are changed one after the other. If the second change failed, they are of different commits.
        return self._main.tag if self._main.tag == self._other.tag else NO_TAG

    @property
    def size_bytes(self) -> int:
        return self._main.size_bytes + self._other.size_bytes

    @property
    def footprint_bytes(self) -> int:
        return self._main.footprint_bytes + self._other.footprint_bytes

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        return {**self._main.store_sizes(), **self._other.store_sizes()}

    def __len__(self) -> int:
        return len(self._main) + len(self._other)

    def get(self, key: bytes) -> bytes | None:
        return self._of(key).get(key)

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        if self._is_of_one_store(start, end):
            return self._of(start).scan(start, end)
        return heapq.merge(self._main.scan(start, end), self._other.scan(start, end))

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        if self._is_of_one_store(start, end):
            return self._of(start).scan_reverse(start, end)
        return heapq.merge(self._main.scan_reverse(start, end), self._other.scan_reverse(start, end), reverse=True)

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        main: list[Change] = []
        other: list[Change] = []
        for change in changes:
            (other if store_of(change[0]) in self._names else main).append(change)
        # Until both tables have the new tag, this table has none (see `tag`).
        self._other.apply(other, tag)
        self._main.apply(main, tag)

    def clear(self) -> None:
        self._main.clear()
        self._other.clear()

    def close(self) -> None:
        self._main.close()
        self._other.close()

    def _of(self, key: bytes) -> Table:
        return self._other if store_of(key) in self._names else self._main

    @staticmethod
    def _is_of_one_store(start: bytes, end: bytes | None) -> bool:
        name = store_of(start)
        return bool(name) and end is not None and start[: len(name) + 1] == name + b"\0" and end <= name + b"\x01"
