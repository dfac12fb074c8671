"""What a task is told of a batch, and what it reports."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets [start, end) of one input partition."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """One batch of one task.

    Args:
        job: identity of the checkpoint, made at first start and carried in the source's offsets.
        batch: the batch's number n, carried in the source's offsets.
        clock: wall clock in ms, carried in the source's offsets.
        idle_ms: how long the task's topics have been idle and read to their ends.
        ranges: of all its input partitions, empty ones included, by (topic, partition).
        restore: whether the task takes its state from its changelogs in this batch, which then reads nothing.
        close_until: time (ms) the closing time moves on to, whatever the task's own records say; -1: none.
    """

    job: str
    task: int
    batch: int
    clock: int
    idle_ms: int
    ranges: tuple[Range, ...]
    restore: bool = False
    close_until: int = -1

    @property
    def is_idle(self) -> bool:
        """Whether no range holds anything."""
        return all(item.start == item.end for item in self.ranges)

    def to_json(self) -> str:
        """Give the batch as the source's row holds it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskBatch:
        """Read a source row."""
        fields: dict[str, Any] = json.loads(text)
        ranges = tuple(Range(**item) for item in fields.pop("ranges"))
        return cls(ranges=ranges, **fields)


@dataclass(slots=True)
class TaskReport:
    """What a task did in a batch: counts, sizes, seconds. For operators; nothing depends on it."""

    stage: int = 0
    task: int = 0
    batch: int = 0
    step: str = ""
    records_in: dict[str, int] = field(default_factory=dict)
    outputs: int = 0
    errors: int = 0
    late: int = 0
    duplicates: int = 0
    timers_fired: int = 0
    changes: int = 0
    conversions: list[str] = field(default_factory=list)
    stream_time: int = -1
    closing_time: int = -1
    state_rows: int = 0
    state_bytes: int = 0
    block_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    latencies_ms: list[int] = field(default_factory=list)
    worker: int = 0

    def to_json(self) -> str:
        """Give the report as the task's output row holds it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskReport:
        """Read a task's output row."""
        return cls(**json.loads(text))
