"""Encodes a task's blocks and manifests as Avro, by the schemas in avro/forebay."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import fastavro

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import TaskPosition
from forebay.serde.contracts import load_contract
from forebay.serde.extension import native_rows
from forebay.stores.directory import Chunk, Delta, Directory
from forebay.stores.table import Change

FORMAT = 3

_encode_rows, _decode_rows = native_rows()
"""Many times as fast as fastavro, which is used for rows that the native code does not support."""

_BLOCK: Any = fastavro.parse_schema(json.loads(load_contract("forebay", "Block").text))
_STATE: Any = fastavro.parse_schema(json.loads(load_contract("forebay", "TaskState").text), named_schemas={})


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """The content of a task's manifest: its position, and the directory of its blocks.

    Args:
        position: the task's position.
        offsets: by changelog topic: where the replay that completes the rows begins.
        written_at: time (wall clock, ms) at which the offsets were read. If it is too long ago, later deletes may be
            gone from the changelogs.
        rows, bytes: size of the table.
    """

    position: TaskPosition
    offsets: dict[str, int]
    written_at: int
    rows: int
    bytes: int
    directory: Directory


def encode_block(changes: list[Change]) -> bytes:
    """Return the bytes of one block."""
    # None if the native module is not built, or does not support some row. fastavro writes the same bytes.
    native = _encode_rows(changes)
    if native is not None:
        return native
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _BLOCK, [{"key": key, "value": value} for key, value in changes])
    return out.getvalue()


def decode_block(data: bytes) -> Iterable[Change]:
    """Return a block's changes in order."""
    native = _decode_rows(data)
    if native is not None:
        return native
    rows: Any = fastavro.schemaless_reader(io.BytesIO(data), _BLOCK, None)
    return [(row["key"], row["value"]) for row in rows]


def encode_state(state: TaskSnapshot) -> bytes:
    """Return the bytes of a task's snapshot."""
    directory = state.directory
    record = {
        "format": FORMAT,
        "position": state.position.to_json(),
        "offsets": state.offsets,
        "written_at": state.written_at,
        "rows": state.rows,
        "bytes": state.bytes,
        "chunks": [asdict(chunk) for chunk in directory.chunks],
        "deltas": [asdict(delta) for delta in directory.deltas],
        "cursor": directory.cursor,
        "credit": directory.credit,
        "next_block": directory.next_block,
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _STATE, record)
    return out.getvalue()


def decode_state(data: bytes) -> TaskSnapshot:
    """Return a task's snapshot. Raises StateConflict for a layout this release does not know."""
    # Checked before decoding: Avro without a writer's schema reads another layout as garbage instead of failing.
    if data[:1] != _FORMAT_BYTE:
        raise StateConflict(
            "the checkpoint's state has another format than this release writes: run the release that wrote it, or "
            "move the checkpoint away and `forebay run --restore`"
        )
    record: Any = fastavro.schemaless_reader(io.BytesIO(data), _STATE, None)
    directory = Directory(
        chunks=tuple(Chunk(**chunk) for chunk in record["chunks"]),
        deltas=tuple(Delta(**delta) for delta in record["deltas"]),
        cursor=record["cursor"],
        credit=record["credit"],
        next_block=record["next_block"],
    )
    return TaskSnapshot(
        position=TaskPosition.from_json(record["position"]),
        offsets=dict(record["offsets"]),
        written_at=record["written_at"],
        rows=record["rows"],
        bytes=record["bytes"],
        directory=directory,
    )


_FORMAT_BYTE = bytes([FORMAT << 1])
"""The first byte of a manifest: the format, as Avro encodes it."""
