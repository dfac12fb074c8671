"""Ordered rows in memory, in native code if it was built and otherwise as Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, cast

from sortedcontainers import SortedList

from forebay.stores.table import Change, Entries
from forebay.utils.native import load_native

HeldBy = Callable[[bytes], tuple[bytes, list[int]]]
"""Returns the prefix of the keys of a key's store, and the mutable list of its numbers of rows and bytes."""


class OrderedRows(Entries, Protocol):
    """Rows by key. A scan returns each entry as it is when the scan reaches it."""

    @property
    def row_bytes(self) -> int:
        """Approximate bytes that a row uses in addition to its key and its value."""
        ...

    def apply(self, changes: Iterable[Change], held_by: HeldBy) -> None:
        """Apply changes in order, and update the counts of their stores."""
        ...

    def clear(self) -> None:
        """Delete all rows."""
        ...


def ordered_rows() -> OrderedRows:
    """Return an empty object for rows."""
    return PythonRows() if _NATIVE is None else cast(OrderedRows, _NATIVE.OrderedRows())


class PythonRows:
    """Rows in a dict for lookups, and a sorted list of keys for scans (implements `OrderedRows`)."""

    row_bytes = 140
    """Measured: the headers of two objects, and their share of the dict and of the sorted list with spare capacity."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: SortedList = SortedList()
        self._edits = 0
        self.get = self._rows.get

    def __len__(self) -> int:
        return len(self._rows)

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        seen = -1
        while seen != self._edits:
            seen = self._edits
            for key in self._keys.irange(start, end, inclusive=(True, False)):
                yield key, self._rows[key]
                if seen != self._edits:
                    start = key + b"\0"
                    break

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        seen = -1
        while seen != self._edits:
            seen = self._edits
            for key in self._keys.irange(start, end, inclusive=(True, False), reverse=True):
                yield key, self._rows[key]
                if seen != self._edits:
                    end = key
                    break

    def apply(self, changes: Iterable[Change], held_by: HeldBy) -> None:
        rows = self._rows
        self._edits += 1
        added: list[bytes] = []
        prefix, held = b"", [0, 0]
        for key, value in changes:
            # A store's rows are adjacent, so its counts are looked up once for all of them.
            if not prefix or not key.startswith(prefix):
                prefix, held = held_by(key)
            old = rows.get(key)
            if value is None:
                if old is not None:
                    del rows[key]
                    held[0] -= 1
                    held[1] -= len(key) + len(old)
                    self._keys.update(added)
                    added.clear()
                    self._keys.remove(key)
                continue
            if old is None:
                added.append(key)
                held[0] += 1
                held[1] += len(key) + len(value)
            else:
                held[1] += len(value) - len(old)
            rows[key] = value
        self._keys.update(added)

    def clear(self) -> None:
        self._edits += 1
        self._rows.clear()
        self._keys.clear()


_NATIVE = load_native("forebay.stores.native")
