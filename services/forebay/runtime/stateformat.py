"""A task's state as bytes: Avro, by the schemas in avro/forebay."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import fastavro

from forebay.processor.engine import Position
from forebay.runtime.error_rate import NO_ERRORS, ErrorCount
from forebay.runtime.errors import StateConflict
from forebay.serde.contracts import load_contract
from forebay.stores.directory import Chunk, Delta, Directory
from forebay.stores.table import Change

FORMAT = 2

_BLOCK: Any = fastavro.parse_schema(json.loads(load_contract("forebay", "Block").text))
_CONTRACT: Any = json.loads(load_contract("forebay", "TaskState").text)
_STATE: Any = fastavro.parse_schema(_CONTRACT, named_schemas={})
_STATE_1: Any = fastavro.parse_schema({**_CONTRACT, "fields": _CONTRACT["fields"][:-2]}, named_schemas={})
"""Format 1: format 2 added two fields at the end."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """What a task knows of itself after a batch.

    Args:
        job: identity of the checkpoint.
        batch: number of the last batch that changed the state.
        tag: hash chain up to that batch.
        marked_at: clock (ms) of the last marker written.
        rows, bytes: size of the table before that batch's changes.
        recent: how many of the latest records failed.
    """

    job: str
    batch: int
    tag: bytes
    code_version: str
    position: Position
    marked_at: int
    rows: int
    bytes: int
    directory: Directory
    recent: ErrorCount = NO_ERRORS


def encode_block(changes: list[Change]) -> bytes:
    """Give the bytes of one block."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _BLOCK, [{"key": key, "value": value} for key, value in changes])
    return out.getvalue()


def decode_block(data: bytes) -> Iterable[Change]:
    """Give a block's changes in order."""
    rows: Any = fastavro.schemaless_reader(io.BytesIO(data), _BLOCK, None)
    return [(row["key"], row["value"]) for row in rows]


def encode_state(state: TaskState) -> bytes:
    """Give the bytes of a task's state."""
    directory = state.directory
    record = {
        "format": FORMAT,
        "job": state.job,
        "batch": state.batch,
        "tag": state.tag,
        "code_version": state.code_version,
        "stream_time": state.position.stream_time,
        "closing_time": state.position.closing_time,
        "marked_at": state.marked_at,
        "rows": state.rows,
        "bytes": state.bytes,
        "chunks": [asdict(chunk) for chunk in directory.chunks],
        "deltas": [asdict(delta) for delta in directory.deltas],
        "cursor": directory.cursor,
        "credit": directory.credit,
        "next_block": directory.next_block,
        "recent_records": state.recent.records,
        "recent_errors": state.recent.errors,
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _STATE, record)
    return out.getvalue()


def decode_state(data: bytes) -> TaskState:
    """Give a task's state. Raises StateConflict for a layout this release does not know."""
    record: Any = fastavro.schemaless_reader(io.BytesIO(data), _STATE_1, None)
    if record["format"] == FORMAT:
        record = fastavro.schemaless_reader(io.BytesIO(data), _STATE, None)
    elif record["format"] != 1:
        raise StateConflict(
            f"the checkpoint's state has format {record['format']}, this release reads formats 1 to {FORMAT}: "
            "run the release that wrote it, or delete it and `forebay restore`"
        )
    directory = Directory(
        chunks=tuple(Chunk(**chunk) for chunk in record["chunks"]),
        deltas=tuple(Delta(**delta) for delta in record["deltas"]),
        cursor=record["cursor"],
        credit=record["credit"],
        next_block=record["next_block"],
    )
    return TaskState(
        job=record["job"],
        batch=record["batch"],
        tag=record["tag"],
        code_version=record["code_version"],
        position=Position(record["stream_time"], record["closing_time"]),
        marked_at=record["marked_at"],
        rows=record["rows"],
        bytes=record["bytes"],
        directory=directory,
        recent=ErrorCount(record.get("recent_records", 0), record.get("recent_errors", 0)),
    )
