"""The reads in key order that several key-value stores share."""

from __future__ import annotations

import abc
import logging
from collections.abc import Iterator
from typing import Generic, TypeVar

from forebay.stores.keys import after, encode_key, terminate
from forebay.stores.table import prefix_end

T = TypeVar("T")

log = logging.getLogger(__name__)


class KeyOrderReads(abc.ABC, Generic[T]):
    """Range reads of stores whose entries are sorted by the UTF-8 bytes of their keys."""

    name: str

    @abc.abstractmethod
    def _scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, T]]:
        """Return entries with start <= key < end (None: to the store's end) in key order."""

    @abc.abstractmethod
    def _scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, T]]:
        """Return entries with start <= key < end (None: to the store's end) in reverse key order."""

    def all(self) -> Iterator[tuple[str, T]]:
        """Return all entries in key order."""
        return self.range(None, None)

    def reverse_all(self) -> Iterator[tuple[str, T]]:
        """Return all entries in reverse key order."""
        return self.reverse_range(None, None)

    def range(self, start: str | None, end: str | None) -> Iterator[tuple[str, T]]:
        """Return the entries with start <= key <= end, in key order. None as a bound leaves it open."""
        return _decode(self._scan(*key_bounds(self.name, start, end)))

    def reverse_range(self, start: str | None, end: str | None) -> Iterator[tuple[str, T]]:
        """Return the results of `range` in reverse order."""
        return _decode(self._scan_reverse(*key_bounds(self.name, start, end)))

    def keys_after(self, key: str | None) -> Iterator[str]:
        """Return the keys after a key, in order. None: from the first key on."""
        start = b"" if key is None else encode_key(self.name, key) + b"\0"
        return (row.decode() for row, _ in self._scan(start, None))

    def prefix_scan(self, prefix: str) -> Iterator[tuple[str, T]]:
        """Return the entries whose keys begin with `prefix`, in key order."""
        encoded = encode_key(self.name, prefix)
        return _decode(self._scan(encoded, prefix_end(encoded)))

    def approximate_num_entries(self) -> int:
        """Return the exact number of entries. This scans the store."""
        return sum(1 for _ in self._scan(b"", None))


def key_bounds(store: str, start: str | None, end: str | None) -> tuple[bytes, bytes | None]:
    """Return the bounds of rows with start <= key <= end. If start > end, log a warning and return an empty range."""
    low = b"" if start is None else start.encode()
    if start is not None and end is not None and low > end.encode():
        log.warning("store %s: range from %r to %r is empty: from is greater than to", store, start, end)
        return b"", b""
    return low, None if end is None else end.encode() + b"\0"


def _decode(rows: Iterator[tuple[bytes, T]]) -> Iterator[tuple[str, T]]:
    return ((key.decode(), value) for key, value in rows)


def text_bounds(store: str, key_from: str | None, key_to: str | None) -> tuple[bytes, bytes | None]:
    """Return the bounds of rows that begin with a terminated key in [key_from, key_to]."""
    if key_bounds(store, key_from, key_to) == (b"", b""):
        return b"", b""
    low = b"" if key_from is None else terminate(key_from.encode())
    return low, None if key_to is None else after(terminate(key_to.encode()))
