"""The confirmed base of a task's stores: an ordered table of bytes, marked with the tag it stands at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sortedcontainers import SortedList

from forebay.stores.sizes import StoreSizes

NO_TAG = b""

Change = tuple[bytes, bytes | None]
"""A key with its new value, or None where the key is deleted."""


class Table(Protocol):
    """An ordered table of bytes. Key order is byte order."""

    @property
    def tag(self) -> bytes:
        """Tag of the batch whose changes were applied last; NO_TAG for a table that was never filled."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys and values."""
        ...

    @property
    def footprint_bytes(self) -> int:
        """Bytes that the table takes, of memory or of disk: its content, and what each row costs beside it."""
        ...

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        """Return rows and bytes by store."""
        ...

    def __len__(self) -> int: ...

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None."""
        ...

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Return entries with start <= key < end (None: open) in key order."""
        ...

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Return entries with start <= key < end (None: open) in reverse key order."""
        ...

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        """Apply `changes` in order and stand at `tag`, both or neither."""
        ...

    def clear(self) -> None:
        """Empty the table and forget its tag."""
        ...

    def close(self) -> None:
        """Give back what the table holds (files, memory)."""
        ...


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the smallest key above all keys that start with `prefix`, or None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


ROW_BYTES = 140
"""Measured: two objects' headers, their places in the dict and in the sorted list, and what these keep to grow."""


class MemoryTable:
    """A table in the worker's memory: a dict for look-ups beside a sorted list of keys for scans."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._keys: SortedList = SortedList()
        self._tag = NO_TAG
        self._sizes = StoreSizes()
        self.get = self._rows.get

    @property
    def tag(self) -> bytes:
        return self._tag

    @property
    def size_bytes(self) -> int:
        return self._sizes.total

    @property
    def footprint_bytes(self) -> int:
        return self._sizes.total + ROW_BYTES * len(self._rows)

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        return self._sizes.of_stores()

    def __len__(self) -> int:
        return len(self._rows)

    def scan(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        rows = self._rows
        for key in self._keys.irange(start, end, inclusive=(True, False)):
            yield key, rows[key]

    def scan_reverse(self, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        rows = self._rows
        for key in self._keys.irange(start, end, inclusive=(True, False), reverse=True):
            yield key, rows[key]

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        rows, held_by = self._rows, self._sizes.held_by
        added: list[bytes] = []
        prefix, held = b"", [0, 0]
        for key, value in changes:
            # A store's rows come together: its counts are looked up once for them.
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
        self._tag = tag

    def clear(self) -> None:
        self._rows.clear()
        self._keys.clear()
        self._sizes.clear()
        self._tag = NO_TAG

    def close(self) -> None:
        self.clear()
