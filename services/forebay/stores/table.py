"""The table of a task's committed rows: ordered bytes, with the tag of the last commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

NO_TAG = b""

Change = tuple[bytes, bytes | None]
"""A key and its new value, or None if the key is deleted."""


class Entries(Protocol):
    """Bytes by key, in order. Key order is byte order."""

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


class Table(Entries, Protocol):
    """An ordered table of bytes."""

    @property
    def tag(self) -> bytes:
        """Tag of the commit whose changes were applied last; NO_TAG for a table that was never filled."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys and values."""
        ...

    @property
    def footprint_bytes(self) -> int:
        """Bytes of memory or disk that the table uses: its content, and the overhead of each row."""
        ...

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of rows and bytes by store."""
        ...

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        """Apply the changes in order and set the tag, atomically."""
        ...

    def clear(self) -> None:
        """Delete all rows, and set the tag to NO_TAG."""
        ...

    def close(self) -> None:
        """Release the table's files and memory."""
        ...


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the smallest key above all keys that start with `prefix`, or None if there is no such key."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
