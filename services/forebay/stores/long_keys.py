"""Rows whose keys are too long for LMDB, which are stored in one entry if their keys have the same beginning.

A row with a shorter key is an entry. An entry with a key of exactly `LONG` bytes contains all rows whose keys begin
with it, so that the order of the entries is the order of the rows.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol

import msgspec

LONG = 511
"""The length of LMDB's longest key. Row keys of at least this length are long."""

LongRows = list[tuple[bytes, bytes]]

_DECODER = msgspec.msgpack.Decoder(LongRows)


class Writer(Protocol):
    """A transaction of LMDB."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, value: bytes) -> bool: ...

    def delete(self, key: bytes) -> bool: ...


def seek_key(key: bytes) -> bytes:
    """Return the key of the entry for a row with `key`."""
    return key[:LONG]


def rows_of(entry: bytes | None) -> LongRows:
    """Return the rows of an entry, in the order of their keys."""
    return [] if entry is None else _DECODER.decode(entry)


def write_long_row(writer: Writer, key: bytes, value: bytes | None) -> None:
    """Set a row in its entry. None deletes it."""
    rows = rows_of(writer.get(seek_key(key)))
    at = bisect_left(rows, key, key=lambda row: row[0])
    is_there = at < len(rows) and rows[at][0] == key
    rows[at : at + is_there] = [] if value is None else [(key, value)]
    if rows:
        writer.put(seek_key(key), msgspec.msgpack.encode(rows))
    else:
        writer.delete(seek_key(key))
