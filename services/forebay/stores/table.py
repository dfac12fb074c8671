"""The confirmed base of a task's stores: an ordered table of bytes, marked with the tag of its last commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

NO_TAG = b""

Change = tuple[bytes, bytes | None]
"""A key with its new value, or None where the key is deleted."""


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
        """Tag of the batch whose changes were applied last; NO_TAG for a table that was never filled."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys and values."""
        ...

    @property
    def footprint_bytes(self) -> int:
        """Bytes that the table takes, of memory or of disk: its content, and the overhead of each row."""
        ...

    def store_sizes(self) -> dict[str, tuple[int, int]]:
        """Return rows and bytes by store."""
        ...

    def apply(self, changes: Iterable[Change], tag: bytes) -> None:
        """Apply `changes` in order and move to `tag`, both or neither."""
        ...

    def clear(self) -> None:
        """Empty the table and forget its tag."""
        ...

    def close(self) -> None:
        """Release the table's files and memory."""
        ...


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the smallest key above all keys that start with `prefix`, or None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
