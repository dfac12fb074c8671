"""Rows that hold event ids: of bounded size, and readable under another retention than the one they were written under.

A row's key says until which stream time its ids came. Releases up to 0.1 wrote the number of a time bucket there, whose
length follows only from the retention, and all ids of a commit and bucket into one row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

PREFIX = b"\x01dedupe\0"
ID_BYTES = 16
IDS_PER_ROW = 4096
"""64 KiB: far below any topic's max.message.bytes, also where the rows of many tasks are joined."""

_ROW = struct.Struct(">qqI")
_BUCKET_ROW = struct.Struct(">qq")
_JOINED = -1


@dataclass(frozen=True, slots=True)
class RowKey:
    """What a row's key says.

    Args:
        until: stream time (ms) until which its ids were accepted; or the number of a bucket.
        is_bucket: which of the two.
    """

    until: int
    is_bucket: bool


def id_rows(until: int, batch: int, ids: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Return ids accepted until stream time `until` (ms) as rows; `batch`, the batch's number, makes their keys."""
    for part, portion in enumerate(_portions(ids)):
        yield PREFIX + _ROW.pack(until, batch, part), portion


def read_row_key(row_key: bytes) -> RowKey:
    """Return what a row's key says, in either format."""
    packed = row_key[len(PREFIX) :]
    if len(packed) == _BUCKET_ROW.size:
        return RowKey(_BUCKET_ROW.unpack(packed)[0], True)
    return RowKey(_ROW.unpack(packed)[0], False)


def as_of_another(row_key: bytes, number: int) -> bytes:
    """Return a row's key as one that no row of its new task has, if the rows of several come together.

    Args:
        number: distinguishes the tasks that the rows come from.
    """
    packed = row_key[len(PREFIX) :]
    if len(packed) != _ROW.size:
        return row_key
    # Two tasks may have used the same number at the same stream time and commit.
    until, batch, part = _ROW.unpack(packed)
    return PREFIX + _ROW.pack(until, batch, (part + ((number + 1) << 16)) % (1 << 32))


def split_ids(value: bytes) -> list[bytes]:
    """Return the ids of a row."""
    return [value[i : i + ID_BYTES] for i in range(0, len(value), ID_BYTES)]


def merge_rows(rows: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return rows of several tasks as rows of bounded size, each id once; later batches' rows never meet them."""
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
