"""Rows with event ids, which have a limited size and remain readable if the retention changes.

A row's key contains the stream time until which its ids were accepted. In releases up to 0.1 it contained the number of
a time bucket, whose length depends on the retention, and all ids of a commit and bucket were in one row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

PREFIX = b"\x01dedupe\0"
ID_BYTES = 16
IDS_PER_ROW = 4096
"""64 KiB per row, far below the max.message.bytes of a topic."""

_ROW = struct.Struct(">qqI")
_BUCKET_ROW = struct.Struct(">qq")
_JOINED = -1


@dataclass(frozen=True, slots=True)
class RowKey:
    """The content of a row's key.

    Args:
        until: Stream time (ms) until which its ids were accepted, or the number of a bucket.
        is_bucket: Whether `until` is the number of a bucket.
    """

    until: int
    is_bucket: bool


def id_rows(until: int, batch: int, ids: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Return ids as rows.

    Args:
        until: Stream time (ms) until which the ids were accepted.
        batch: Number of the commit, which is part of the rows' keys.
        ids: Ids of ID_BYTES each.
    """
    for part, portion in enumerate(_portions(ids)):
        yield PREFIX + _ROW.pack(until, batch, part), portion


def read_row_key(row_key: bytes) -> RowKey:
    """Return the content of a row's key, in either format."""
    packed = row_key[len(PREFIX) :]
    if len(packed) == _BUCKET_ROW.size:
        return RowKey(_BUCKET_ROW.unpack(packed)[0], True)
    return RowKey(_ROW.unpack(packed)[0], False)


def as_of_another(row_key: bytes, number: int) -> bytes:
    """Return a key for a row that no other row of its new task has, if a task gets the rows of several tasks.

    Args:
        number: Number of the task that the row comes from.
    """
    packed = row_key[len(PREFIX) :]
    if len(packed) != _ROW.size:
        return row_key
    # Two tasks may have written the same key, with the same stream time and commit number.
    until, batch, part = _ROW.unpack(packed)
    return PREFIX + _ROW.pack(until, batch, (part + ((number + 1) << 16)) % (1 << 32))


def split_ids(value: bytes) -> list[bytes]:
    """Return the ids of a row."""
    return [value[i : i + ID_BYTES] for i in range(0, len(value), ID_BYTES)]


def merge_rows(rows: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return rows of limited size with each id of the rows of several tasks. No later commit writes the same keys."""
    ids: dict[RowKey, dict[bytes, None]] = {}
    for row_key, value in sorted(rows.items()):
        ids.setdefault(read_row_key(row_key), {}).update(dict.fromkeys(split_ids(value)))
    return {row_key: value for key, ids_of_key in ids.items() for row_key, value in _rows_of(key, list(ids_of_key))}


def _rows_of(key: RowKey, ids: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    if not key.is_bucket:
        yield from id_rows(key.until, _JOINED, ids)
        return
    for part, portion in enumerate(_portions(ids)):
        yield PREFIX + _BUCKET_ROW.pack(key.until, _JOINED - part), portion


def _portions(ids: list[bytes]) -> Iterable[bytes]:
    return (b"".join(ids[i : i + IDS_PER_ROW]) for i in range(0, len(ids), IDS_PER_ROW))
