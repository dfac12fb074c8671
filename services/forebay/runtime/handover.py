"""How a stage's tasks hand a batch's records to the tasks of the next stage, through Spark's shuffle."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro

from forebay.processor.handover import handed
from forebay.processor.messages import Message, Output
from forebay.runtime.batch import Range, TaskBatch
from forebay.runtime.errors import Unavailable
from forebay.serde.contracts import load_contract

SCHEMA = (
    "bucket int, source int, job string, task int, n long, clock long, idle_ms long, restore boolean, "
    "close_until long, block binary, reports string"
)

_BLOCK: Any = fastavro.parse_schema(json.loads(load_contract("forebay", "Handover").text))


@dataclass(frozen=True, slots=True)
class Handover:
    """One row: what task `source` hands to task `task` of the next stage in batch `n`.

    Args:
        job: identity of the checkpoint.
        clock: the batch's clock, ms.
        idle_ms: how long the source had been idle.
        restore: whether the batch takes states from changelogs.
        close_until: time (ms) the batch moves closing times on to; -1: none.
        block: the records.
        reports: reports on their way to the driver, as JSON.
    """

    source: int
    job: str
    task: int
    n: int
    clock: int
    idle_ms: int
    restore: bool
    close_until: int
    block: bytes
    reports: tuple[str, ...]


def hand_over(batch: TaskBatch, onward: Sequence[Sequence[Output]], reports: Sequence[str]) -> Iterator[Handover]:
    """Give exactly one row for each task of the next stage; the reports travel with the one of the same number.

    Args:
        onward: by task of the next stage.
    """
    for task, block in enumerate(onward):
        yield Handover(
            source=batch.task,
            job=batch.job,
            task=task,
            n=batch.batch,
            clock=batch.clock,
            idle_ms=batch.idle_ms,
            restore=batch.restore,
            close_until=batch.close_until,
            block=encode_block(block),
            reports=tuple(reports) if task == batch.task else (),
        )


def taken_over(rows: Sequence[Handover], tasks: int, marker_topic: str) -> TaskBatch:
    """Give the batch of the task these rows were handed to.

    It is idle as long as the least idle of its sources. Its one range stands for the batch's number: the marker of a
    later stage is an offset of the stage's internal topic.

    Raises:
        Unavailable: not exactly one row of each task of the stage before.
    """
    first = rows[0]
    if [row.source for row in rows] != list(range(tasks)) or any(row.n != first.n for row in rows):
        raise Unavailable(
            f"task {first.task} was handed batch {[row.n for row in rows]} by tasks {[row.source for row in rows]}: "
            f"one row of each of {tasks} tasks is needed"
        )
    return TaskBatch(
        job=first.job,
        task=first.task,
        batch=first.n,
        clock=max(row.clock for row in rows),
        idle_ms=min(row.idle_ms for row in rows),
        ranges=(Range(marker_topic, first.task, 0, first.n),),
        restore=first.restore,
        close_until=first.close_until,
    )


class HandedInput:
    """The input of a later stage's task: the blocks of the current batch (implements `Input`)."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._rows: Sequence[Handover] = ()

    def offer(self, rows: Sequence[Handover]) -> None:
        """Set the batch's rows, by source task."""
        self._rows = rows

    def read(self, ranges: Sequence[Range]) -> list[Iterator[Message]]:
        return [iter(handed(self._stage, row.source, decode_block(row.block))) for row in self._rows]


def encode_block(records: Sequence[Output]) -> bytes:
    """Give the bytes of a block."""
    out = io.BytesIO()
    rows = [{"key": record.key, "value": record.value, "timestamp": record.timestamp} for record in records]
    fastavro.schemaless_writer(out, _BLOCK, rows)
    return out.getvalue()


def decode_block(data: bytes) -> list[tuple[bytes, bytes | None, int]]:
    """Give a block's (key, value, timestamp in ms) in order."""
    rows: Any = fastavro.schemaless_reader(io.BytesIO(data), _BLOCK, None)
    return [(row["key"], row["value"], row["timestamp"]) for row in rows]
