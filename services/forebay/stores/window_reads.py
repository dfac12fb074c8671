"""Reading a window store: entries by key, by range of keys, and by window start."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from forebay.stores.binding import Marks
from forebay.stores.keys import FOREVER, WIDTH, after, encode_key, pack_time, split_text, terminate, unpack_time
from forebay.stores.rows import Rows
from forebay.stores.scans import text_bounds
from forebay.stores.values import Stamped

V = TypeVar("V")

LATEST = b"latest"
"""Mark of a window store: the latest window start that was put."""
BEGINNING = -(1 << 62)
ONLY = pack_time(0)
"""Suffix of an entry's row key in a store without duplicates."""


class Duplicates(Enum):
    """Whether a second put with the same key and window start replaces the entry or adds another one."""

    REPLACE = "replace"
    KEEP = "keep"


class WindowEntry(NamedTuple, Generic[V]):
    """An entry. Its window starts at `start` (ms). `timestamp` (ms) is the time that is stored with the value."""

    key: str
    start: int
    value: V
    timestamp: int


class WindowReads(Generic[V]):
    """Reads of a window store. An expired entry is not visible, even if no purge has deleted its row yet."""

    name: str
    duplicates: Duplicates
    retention_ms: int
    marks: Marks
    _rows: Rows[Stamped[V]]
    _by_start: Rows[bytes]

    def fetch_one(self, key: str, start: int) -> WindowEntry[V] | None:
        """Return the entry of `key` and `start`, or None. If there are several, return the newest."""
        # The entries of a window are numbered in the order of their puts, so the last one is the newest.
        if self.duplicates is Duplicates.KEEP:
            return next(self.backward_fetch(key, start, start), None)
        if start < self._visible(start):
            return None
        row = self._rows.get(terminate(encode_key(self.name, key)) + pack_time(start) + ONLY)
        return None if row is None else WindowEntry(key, start, row.value, row.timestamp)

    def fetch(self, key: str, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the entries of `key` with start_from <= start <= start_to, by start and then order of puts."""
        return self._entries(key, self._rows.scan(*self._bounds(key, start_from, start_to)))

    def backward_fetch(self, key: str, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch` in reverse order."""
        return self._entries(key, self._rows.scan_reverse(*self._bounds(key, start_from, start_to)))

    def fetch_key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> Iterator[WindowEntry[V]]:
        """Return the entries of keys in [key_from, key_to] with start_from <= start <= start_to, by start, then key.

        None as a bound of the keys leaves the range open.
        """
        if key_from is None and key_to is None:
            return self.fetch_all(start_from, start_to)
        return iter(self._key_range(key_from, key_to, start_from, start_to))

    def backward_fetch_key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch_key_range` in reverse order."""
        if key_from is None and key_to is None:
            return self.backward_fetch_all(start_from, start_to)
        return reversed(self._key_range(key_from, key_to, start_from, start_to))

    def fetch_all(self, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the entries of all keys with start_from <= start <= start_to, sorted by start and then by key."""
        return self._entries_by_index(self._by_start.scan(*self._index_bounds(start_from, start_to)))

    def backward_fetch_all(self, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch_all` in reverse order."""
        return self._entries_by_index(self._by_start.scan_reverse(*self._index_bounds(start_from, start_to)))

    def all(self) -> Iterator[WindowEntry[V]]:
        """Return all entries, sorted by start and then by key."""
        return self.fetch_all(BEGINNING, FOREVER)

    def backward_all(self) -> Iterator[WindowEntry[V]]:
        """Return all entries in reverse order."""
        return self.backward_fetch_all(BEGINNING, FOREVER)

    def first_start(self, start_from: int) -> int | None:
        """Return the smallest start >= `start_from` of any entry, or None."""
        low, high = self._index_bounds(start_from, FOREVER)
        row = next(self._by_start.scan(low, high), None)
        return None if row is None else unpack_time(row[0])

    def _visible(self, start_from: int) -> int:
        return max(start_from, self.marks.get(LATEST, BEGINNING) - self.retention_ms + 1)

    def _bounds(self, key: str, start_from: int, start_to: int) -> tuple[bytes, bytes]:
        prefix = terminate(encode_key(self.name, key))
        return prefix + pack_time(self._visible(start_from)), after(prefix + pack_time(start_to))

    def _index_bounds(self, start_from: int, start_to: int) -> tuple[bytes, bytes]:
        return pack_time(self._visible(start_from)), after(pack_time(start_to))

    def _entries(self, key: str, rows: Iterator[tuple[bytes, Stamped[V]]]) -> Iterator[WindowEntry[V]]:
        for row, entry_row in rows:
            yield WindowEntry(key, unpack_time(row, len(row) - 2 * WIDTH), entry_row.value, entry_row.timestamp)

    def _entries_by_index(self, index: Iterator[tuple[bytes, bytes]]) -> Iterator[WindowEntry[V]]:
        for row, _ in index:
            start, rest = row[:WIDTH], row[WIDTH:]
            # The index has no values. Otherwise they would be in two changelogs, and an update would write both.
            entry_row = self._rows.get(rest[:-WIDTH] + start + rest[-WIDTH:])
            assert entry_row is not None, f"store {self.name}: an index row without its entry"
            yield WindowEntry(split_text(rest)[0], unpack_time(start), entry_row.value, entry_row.timestamp)

    def _key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> list[WindowEntry[V]]:
        low, high = text_bounds(self.name, key_from, key_to)
        visible = self._visible(start_from)
        entries: list[WindowEntry[V]] = []
        for row, entry_row in self._rows.scan(low, high):
            key, at = split_text(row)
            start = unpack_time(row, at)
            if visible <= start <= start_to:
                entries.append(WindowEntry(key, start, entry_row.value, entry_row.timestamp))
        return sorted(entries, key=lambda entry: (entry.start, entry.key.encode()))
