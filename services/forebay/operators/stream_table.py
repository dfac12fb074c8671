"""Joins of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Join, Result
from forebay.operators.table import Table
from forebay.stores.buffers import Buffered, JoinBuffer
from forebay.time.durations import Duration, ms_of

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741


class StreamTableJoin(Generic[L, R, O]):
    """A join of each stream record with the current row of its key or, in a versioned table, the row as of its time.

    Updates of the table emit nothing and correct no earlier result. With a grace, a record waits in `buffer` until the
    stream's own time has reached its timestamp plus the grace, so that slightly late updates are used.

    Args:
        kind: INNER or LEFT.
        joiner: Function of the record's value and the row, which is None in a left join without a match.
        buffer: Buffer of waiting records.
        grace_ms: How long records wait, in ms or as a timedelta.
    """

    def __init__(
        self,
        table: Table[R],
        kind: Join,
        joiner: Callable[[L, R | None], O],
        *,
        buffer: JoinBuffer[L] | None = None,
        grace_ms: Duration = 0,
    ) -> None:
        grace_ms = ms_of(grace_ms)
        if kind is Join.OUTER:
            raise ValueError(f"store {table.name}: a stream and a table can't be joined outer; use inner or left")
        if buffer is not None:
            _check_grace(table, grace_ms)
        elif grace_ms:
            raise ValueError(f"store {table.name}: a join with a grace of {grace_ms} ms needs a JoinBuffer")
        self._table = table
        self._kind = kind
        self._joiner = joiner
        self._buffer = buffer
        self._grace_ms = grace_ms

    def process(self, key: str | None, value: L | None, timestamp: int) -> list[Result[O]]:
        """Join one stream record (timestamp in ms). Return its result and those of records whose wait has ended.

        A record without a value is ignored.
        """
        results = self.accept(key, value, timestamp)
        return self.release(timestamp) if results is None else results

    def accept(self, key: str | None, value: L | None, timestamp: int) -> list[Result[O]] | None:
        """Join one stream record (timestamp in ms), or buffer it and return None if it must wait.

        A record without a value is ignored.
        """
        if value is None or (key is None and self._kind is Join.INNER):
            return []
        if key is None:
            return [Result(None, self._joiner(value, None), timestamp)]
        if self._buffer is None:
            return self._join(key, value, timestamp)
        until = self._buffer.stream_time - self._grace_ms
        # If the grace of the record passed before it arrived, join it immediately, with the row as of its time.
        if timestamp < until:
            return self._join(key, value, timestamp)
        # Use the buffer's own time. Records of the table must not end the wait of a stream that is behind.
        self._buffer.append(timestamp, key, value)
        self._buffer.advance(timestamp)
        return None

    def release(self, time: int) -> list[Result[O]]:
        """Advance the stream's time to `time` (ms), for an idle stream, and join the records whose wait has ended."""
        return [result for waiting in self.take(time) for result in self.join(waiting)]

    def take(self, time: int) -> list[Buffered[L]]:
        """Advance the stream's time to `time` (ms). Remove and return the records whose wait has ended."""
        return [] if self._buffer is None else self._buffer.release(self._buffer.advance(time) - self._grace_ms)

    def join(self, waiting: Buffered[L]) -> list[Result[O]]:
        """Join a record that has waited."""
        return self._join(waiting.key, waiting.value, waiting.time)

    @property
    def stream_time(self) -> int:
        """Time of the stream side, in ms. Records of the table do not advance it."""
        return -1 if self._buffer is None else self._buffer.stream_time

    def next_release(self) -> int | None:
        """Return the time of the stream side (ms) at which the first wait ends, or None if no record waits."""
        first = None if self._buffer is None else self._buffer.first_time()
        return None if first is None else first + self._grace_ms

    def _join(self, key: str, value: L, timestamp: int) -> list[Result[O]]:
        row = self._table.get_as_of(key, timestamp)
        if row is None and self._kind is Join.INNER:
            return []
        return [Result(key, self._joiner(value, row), timestamp)]


def _check_grace(table: Table[R], grace_ms: int) -> None:
    history = table.history_retention_ms
    if grace_ms < 0:
        raise ValueError(f"store {table.name}: the join's grace of {grace_ms} ms is negative")
    if history is None:
        raise ValueError(
            f"store {table.name}: a join with a grace of {grace_ms} ms needs the table as of the record's time; "
            "make the table a VersionedKeyValueStore, or join without a grace"
        )
    if grace_ms > history:
        raise ValueError(
            f"store {table.name}: the join's grace of {grace_ms} ms is longer than the table's history of "
            f"{history} ms; give the store a history_retention_ms of at least {grace_ms}"
        )
