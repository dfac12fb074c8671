"""Suppress: holds updates back until their time has come."""

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
    """A suppress buffer reached its limit, and may not give anything early."""


class WhenFull(Enum):
    """What a full buffer does."""

    EMIT_EARLY = "emit early"
    SHUT_DOWN = "shut down"


class Until(Protocol):
    """When a buffered update is released."""

    def time(self, window: Window | None, timestamp: int) -> int:
        """Return the time (ms) that places an update in the buffer."""
        ...

    def due(self, now: int) -> int:
        """Return the last place (ms) that is released when the closing time is `now`."""
        ...

    def closes_at(self, time: int) -> int:
        """Return the closing time (ms) at which an update at that place is released."""
        ...

    @property
    def drops_tombstones(self) -> bool:
        """Whether no reader can have seen the row that a tombstone deletes."""
        ...


@dataclass(frozen=True, slots=True)
class UntilTimeLimit:
    """Until `limit_ms` of stream time after the key was first buffered; later updates don't restart that clock."""

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
    """Windows of any kind, or sessions: when they are final."""

    def closed_until(self, now: int) -> int:
        """Return the last end of a closed window when the closing time is `now`."""
        ...

    def closes_at(self, window: Window, /) -> int:
        """Return the closing time at which the window is final."""
        ...


@dataclass(frozen=True, slots=True)
class UntilWindowCloses:
    """Until the update's window or session is final: exactly one result for each."""

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
    """Buffers the newest update per key (and window).

    Args:
        max_records, max_bytes: limits of the buffer; None: unlimited.
        when_full: give the oldest update early, or raise BufferFull.
        table: the table the updates come from, if they come straight from one.
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
        """Buffer one update; return the updates released at closing time `now` (ms). Raises BufferFull."""
        self.put(key, window, value, timestamp, now)
        return self.release(now)

    def put(self, key: str, window: Window | None, value: V | None, timestamp: int, now: int) -> None:
        """Buffer one update. Raises BufferFull if it does not fit even after all that is due at `now` (ms) has left."""
        if value is None and self._until.drops_tombstones:
            # The row was never sent, so no reader needs its tombstone. An update that still waits must not be sent,
            # either.
            self._buffer.discard(key, window)
        else:
            self._buffer.put(self._until.time(window, timestamp), key, window, value, timestamp)
        if self._when_full is not WhenFull.SHUT_DOWN or not self._is_over():
            return
        # What is due leaves the buffer with this record, so it does not count against the limits.
        records, size = self._buffer.counts_after(self._until.due(now))
        if self._exceeds(records, size):
            raise BufferFull(
                f"store {self._buffer.name}: {records} records of {size} bytes are more than it may hold "
                f"({self._max_records} records, {self._max_bytes} bytes): raise the limit"
            )

    def release(self, now: int) -> list[Suppressed[V]]:
        """Return the updates released at closing time `now` (ms), in order of time, then key.

        What is due comes first, then the oldest updates of a buffer that is still over its limit.
        """
        released = self._buffer.release(self._until.due(now))
        if self._when_full is WhenFull.EMIT_EARLY:
            # One after the other: each eviction changes the counts that the limits are compared with.
            while self._is_over():
                released.append(self._buffer.evict())
        return released

    def _is_over(self) -> bool:
        return self._is_limited and self._exceeds(self._buffer.records, self._buffer.size_bytes)

    def _exceeds(self, records: int, size_bytes: int) -> bool:
        return (self._max_records is not None and records > self._max_records) or (
            self._max_bytes is not None and size_bytes > self._max_bytes
        )
