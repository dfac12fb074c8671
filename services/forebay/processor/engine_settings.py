"""Settings of a task's engine."""

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
    """Which outputs of a table a commit sends: all rows (`every`), or the last row of each key (`latest`)."""

    EVERY = "every"
    LATEST = "latest"


class StateEncoding(Enum):
    """When values that were put are encoded.

    AT_END encodes each row once per commit, which is cheap. EACH encodes each value when it is put, and finds the
    record whose value can't be encoded. A commit that fails with AT_END is computed again with EACH.
    """

    AT_END = "at end"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one commit of a task.

    Args:
        until: Time by `monotonic` (seconds) after which no further record or timer is processed.
        blames_memory: Whether a MemoryError is blamed on the current record or timer. In a commit of many records it is
            not, because each of them uses memory. In a commit of one record, there is no other cause.
        monotonic: Clock, in seconds.
        most_rows: Largest number of rows that are sent to added stores (see filling.py).
    """

    until: float = math.inf
    blames_memory: bool = False
    monotonic: Callable[[], float] = time.monotonic
    most_rows: int = 1 << 30


UNBOUNDED = Bounds()

MAX_OUTPUT_BYTES = 128 << 20
OUTPUT_BYTES = 200
"""Bytes of memory that an output uses in addition to its key, value and headers."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of a task's engine.

    Args:
        service: Name of the service, for error reports.
        emit: Which rows of a table a commit sends to outputs.
        dedupe_retention_ms: How long event ids are known, in ms of stream time. 0 turns deduplication off.
        max_future_ms: How far an event time may be ahead of the commit's clock, in ms.
        max_record_bytes: Largest output value.
        max_output_bytes: Largest sum of the outputs of one record or timer. Each output counts `OUTPUT_BYTES` in
            addition, so that this also limits their number.
        limits: Record limits of the topics that the task writes. A record that exceeds them fails.
        cached_objects: Number of decoded rows per store that are cached across commits.
        on_change: What happens if a store's rows were written in another format than it declares.
        reported_elsewhere: Inputs of global tables, which other tasks read completely, too. One of the tasks reports
            their failed records.
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
