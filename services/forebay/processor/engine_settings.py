"""How a task's engine treats its records."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from forebay.limits.topics import TaskLimits
from forebay.stores.kinds import OnChange
from forebay.time.durations import set_durations


class Emit(Enum):
    """Which of a key's outputs leave a commit: `latest` is a cache in front of tables' rows."""

    EVERY = "every"
    LATEST = "latest"


class StateEncoding(Enum):
    """When put values are encoded.

    AT_END is cheap: once per row and batch. EACH finds the record that put what can't be encoded; a batch
    that fails AT_END is computed again with EACH.
    """

    AT_END = "at end"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one commit of a task may take.

    Args:
        until: time, by `monotonic` (seconds), after which no further record or timer is begun.
        blames_memory: whether a MemoryError is the fault of the record or timer in hand. In a commit of many records it
            is not: each of them takes memory. In a commit of one record nothing else is left to blame.
    """

    until: float = math.inf
    blames_memory: bool = False
    monotonic: Callable[[], float] = time.monotonic


UNBOUNDED = Bounds()

MAX_OUTPUT_BYTES = 128 << 20
OUTPUT_BYTES = 200
"""Memory that an output takes in addition to its key, value and headers."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a task treats its records.

    Args:
        service: named in errors.
        emit: every output, or the last one per key and batch.
        dedupe_retention_ms: stream time for which event ids are remembered; 0 switches it off.
        max_future_ms: how far an event time may lie ahead of the batch's clock.
        max_record_bytes: largest output value.
        max_output_bytes: what the outputs of one record or timer may take together, `OUTPUT_BYTES` each included, so
            that it bounds their number too.
        limits: what the topics take that the task writes to: larger is refused, on the record that caused it.
        cached_objects: decoded rows kept per store from batch to batch.
        on_change: what to do if a store's rows were written in another format than it declares.
        reported_elsewhere: inputs that other tasks read whole, too: those of global tables. Their failed records are
            reported by one of the tasks.
    """

    service: str
    emit: Emit = Emit.EVERY
    dedupe_retention_ms: int = 600_000
    max_future_ms: int = 3_600_000
    max_record_bytes: int = 1_000_000
    max_output_bytes: int = MAX_OUTPUT_BYTES
    limits: TaskLimits = field(default_factory=TaskLimits)
    cached_objects: int = 50_000
    on_change: OnChange = OnChange.REFUSE
    reported_elsewhere: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        set_durations(self, dedupe_retention_ms=self.dedupe_retention_ms, max_future_ms=self.max_future_ms)
