"""The suppress operator, which holds back updates of a table until they are due."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from forebay.operators.table import Table
from forebay.stores.buffers import SuppressBuffer, Suppressed
from forebay.time.base import Window
from forebay.time.durations import Duration, set_durations

V = TypeVar("V")


class BufferFull(Exception):
    """A suppress buffer reached its limit and must not emit updates early."""


class WhenFull(Enum):
    """What a full buffer does."""

    EMIT_EARLY = "emit early"
    SHUT_DOWN = "shut down"


class Until(Protocol):
    """When a buffered update is released."""

    def time(self, window: Window | None, timestamp: int) -> int:
        """Return the time (ms) by which an update is sorted in the buffer."""
        ...

    def due(self, now: int) -> int:
        """Return the last time in the buffer (ms) that is released at the closing time `now`."""
        ...

    def closes_at(self, time: int) -> int:
        """Return the closing time (ms) at which an update with this time in the buffer is released."""
        ...

    @property
    def drops_tombstones(self) -> bool:
        """Whether tombstones are dropped, because no row can have been emitted before."""
        ...


@dataclass(frozen=True, slots=True)
class UntilTimeLimit:
    """Release of an update when a time limit has passed since the key was first buffered.

    Args:
        limit_ms: Time limit, in ms of stream time or as a timedelta. Later updates of the key do not restart it.
        drops_tombstones: Whether deletions are dropped.
    """

    limit_ms: int
    drops_tombstones: bool = False

    def __init__(self, limit_ms: Duration, drops_tombstones: bool = False) -> None:
        set_durations(self, limit_ms=limit_ms)
        object.__setattr__(self, "drops_tombstones", drops_tombstones)

    def time(self, window: Window | None, timestamp: int) -> int:
        return timestamp

    def due(self, now: int) -> int:
        return now - self.limit_ms

    def closes_at(self, time: int) -> int:
        return time + self.limit_ms


class Closing(Protocol):
    """When windows or sessions become final."""

    def closed_until(self, now: int) -> int:
        """Return the last end of a window that is closed at the closing time `now`."""
        ...

    def closes_at(self, window: Window, /) -> int:
        """Return the closing time at which the window becomes final."""
        ...


@dataclass(frozen=True, slots=True)
class UntilWindowCloses:
    """Release of an update when its window or session becomes final. Each has exactly one result.

    Args:
        windows: Windows or sessions of the table's keys.
        drops_tombstones: Whether deletions are dropped.
    """

    windows: Closing
    drops_tombstones: bool = True

    def time(self, window: Window | None, timestamp: int) -> int:
        if window is None:
            raise TypeError("updates without a window can't wait until it closes: use UntilTimeLimit")
        return window.end

    def due(self, now: int) -> int:
        return self.windows.closed_until(now)

    def closes_at(self, time: int) -> int:
        return self.windows.closes_at(Window(time, time))


class Suppress(Generic[V]):
    """A buffer of the newest update per key or, in a windowed table, per key and window.

    Args:
        until: When an update is released.
        max_records, max_bytes: Limits of the buffer. None: unlimited.
        when_full: Whether a full buffer emits the oldest update early or raises BufferFull.
        table: Table from which the updates come directly. It must not be versioned.
    """

    def __init__(
        self,
        buffer: SuppressBuffer[V],
        until: Until,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        when_full: WhenFull = WhenFull.EMIT_EARLY,
        table: Table[Any] | None = None,
    ) -> None:
        if table is not None and table.history_retention_ms is not None:
            raise ValueError(
                f"store {table.name}: a versioned table can't be suppressed: its late updates belong to earlier "
                "times; suppress an aggregate of it, or make the table unversioned"
            )
        self._buffer = buffer
        self._until = until
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._is_limited = max_records is not None or max_bytes is not None
        self._when_full = when_full

    def process(
        self, key: str, window: Window | None, value: V | None, timestamp: int, now: int
    ) -> list[Suppressed[V]]:
        """Buffer one update. Return the updates that are released at the closing time `now` (ms).

        Raises:
            BufferFull: See `put`.
        """
        self.put(key, window, value, timestamp, now)
        return self.release(now)

    def put(self, key: str, window: Window | None, value: V | None, timestamp: int, now: int) -> None:
        """Buffer one update.

        Raises:
            BufferFull: The limits would be exceeded even after all updates that are due at `now` (ms) are released.
        """
        if value is None and self._until.drops_tombstones:
            # The row was never emitted, so no reader needs the tombstone. An update that is still in the buffer must
            # not be emitted, either.
            self._buffer.discard(key, window)
        else:
            self._buffer.put(self._until.time(window, timestamp), key, window, value, timestamp)
        if self._when_full is not WhenFull.SHUT_DOWN or not self._is_over():
            return
        # Updates that are due leave the buffer with this record, so they do not count against the limits.
        records, size = self._buffer.counts_after(self._until.due(now))
        if self._exceeds(records, size):
            raise BufferFull(
                f"store {self._buffer.name}: {records} records of {size} bytes are more than it may hold "
                f"({self._max_records} records, {self._max_bytes} bytes): raise the limit"
            )

    def release(self, now: int) -> list[Suppressed[V]]:
        """Remove and return the updates that are released at the closing time `now` (ms), by time and key.

        Updates that are due come first. If the buffer still exceeds its limits, the oldest updates follow.
        """
        released = self._buffer.release(self._until.due(now))
        if self._when_full is WhenFull.EMIT_EARLY:
            # Evict one at a time, because each eviction changes the counts that are compared with the limits.
            while self._is_over():
                released.append(self._buffer.evict())
        return released

    def _is_over(self) -> bool:
        return self._is_limited and self._exceeds(self._buffer.records, self._buffer.size_bytes)

    def _exceeds(self, records: int, size_bytes: int) -> bool:
        return (self._max_records is not None and records > self._max_records) or (
            self._max_bytes is not None and size_bytes > self._max_bytes
        )
