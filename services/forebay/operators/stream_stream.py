"""Joins of two streams within a time window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from forebay.operators.results import Alone, Join, Result
from forebay.stores.buffers import JoinBuffer
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates, WindowEntry
from forebay.time.base import Window
from forebay.time.windows import JoinWindows

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741


class Unmatched(NamedTuple, Generic[L, R]):
    """A record of one side without a match, with its time in ms."""

    time: int
    key: str
    left: L | None
    right: R | None


class StreamStreamJoin(Generic[L, R, O]):
    """A join of each record with the records of the other stream within the window, whose bounds are inclusive.

    Left and outer joins emit a result for an unmatched record when its window closes. Times are in ms. `now` is the
    task's closing time, including this record (`ctx.closing_time`). For a self-join, call `on_left` and then `on_right`
    with each record.

    Args:
        left, right: Stores of the records of both streams, with Duplicates.KEEP. Their retention must be at least the
            window plus its grace.
        joiner: Function of both values. In a left or outer join, one of them may be None.
        left_waiting, right_waiting: Buffers of the records that have no match yet. The sides whose unmatched records
            are emitted need one.
        alone: When unmatched records are emitted.
    """

    def __init__(
        self,
        left: WindowStore[L],
        right: WindowStore[R],
        windows: JoinWindows,
        kind: Join,
        joiner: Callable[[L | None, R | None], O],
        *,
        left_waiting: JoinBuffer[L] | None = None,
        right_waiting: JoinBuffer[R] | None = None,
        alone: Alone = Alone.AT_CLOSE,
    ) -> None:
        _check_store(left, windows)
        _check_store(right, windows)
        if kind is not Join.INNER and left_waiting is None:
            raise ValueError(f"store {left.name}: a {kind.value} join needs a JoinBuffer left_waiting")
        if kind is Join.OUTER and right_waiting is None:
            raise ValueError(f"store {right.name}: an outer join needs a JoinBuffer right_waiting")
        self._left = left
        self._right = right
        self._windows = windows
        self._joiner = joiner
        self._at_once = alone is Alone.AT_ONCE
        self._left_waiting = None if kind is Join.INNER else left_waiting
        self._right_waiting = right_waiting if kind is Join.OUTER else None

    def on_left(self, key: str | None, value: L | None, timestamp: int, now: int) -> list[Result[O]]:
        """Join a record of the left stream.

        Return the unmatched records that are due, followed by the results in order of the right records' time.
        """
        if value is None or (key is None and self._left_waiting is None):
            return []
        if key is None:
            return [Result(None, self._joiner(value, None), timestamp)]
        # As in Kafka Streams, unmatched records whose window has closed are emitted first.
        results = self.release(now)
        self._left.put(key, value, timestamp)
        window = self._windows.of_left(timestamp)
        matches = _matches(self._right, key, window)
        for other in matches:
            _forget(self._right_waiting, other)
            # The result has the later timestamp of both records, because it could not be known earlier.
            results.append(Result(key, self._joiner(value, other.value), max(timestamp, other.start)))
        if not matches and self._left_waiting is not None:
            # If the window closed before the record arrived, nothing can match it any more, so it does not wait.
            if self._at_once or self._windows.is_closed(window, now):
                results.append(Result(key, self._joiner(value, None), timestamp))
            else:
                self._left_waiting.append(timestamp, key, value)
        return results

    def on_right(self, key: str | None, value: R | None, timestamp: int, now: int) -> list[Result[O]]:
        """Join a record of the right stream.

        Return the unmatched records that are due, followed by the results in order of the left records' time.
        """
        if value is None or (key is None and self._right_waiting is None):
            return []
        if key is None:
            return [Result(None, self._joiner(None, value), timestamp)]
        results = self.release(now)
        self._right.put(key, value, timestamp)
        window = self._windows.of_right(timestamp)
        matches = _matches(self._left, key, window)
        for other in matches:
            _forget(self._left_waiting, other)
            results.append(Result(key, self._joiner(other.value, value), max(timestamp, other.start)))
        if not matches and self._right_waiting is not None:
            if self._at_once or self._windows.is_closed(window, now):
                results.append(Result(key, self._joiner(None, value), timestamp))
            else:
                self._right_waiting.append(timestamp, key, value)
        return results

    def release(self, now: int) -> list[Result[O]]:
        """Return the results of unmatched records whose window closed, sorted by time, left side first, and key."""
        return [self.join_alone(unmatched) for unmatched in self.take_unmatched(now)]

    def take_unmatched(self, now: int) -> list[Unmatched[L, R]]:
        """Remove and return unmatched records whose window closed, sorted by time, left side first, and key."""
        # Both bounds of a join window are inclusive, so a record at exactly its end plus the grace period still
        # matches.
        until = now - self._windows.grace_ms - 1
        left = () if self._left_waiting is None else self._left_waiting.release(until - self._windows.after_ms)
        right = () if self._right_waiting is None else self._right_waiting.release(until - self._windows.before_ms)
        unmatched: list[Unmatched[L, R]] = [Unmatched(row.time, row.key, row.value, None) for row in left]
        unmatched += [Unmatched(row.time, row.key, None, row.value) for row in right]
        # The sort is stable: at equal times the left side comes first.
        return sorted(unmatched, key=lambda row: row.time)

    def join_alone(self, unmatched: Unmatched[L, R]) -> Result[O]:
        """Return the result of an unmatched record."""
        return Result(unmatched.key, self._joiner(unmatched.left, unmatched.right), unmatched.time)

    def next_release(self) -> int | None:
        """Return the closing time (ms) at which the first waiting record is emitted, or None if no record waits.

        The time may once be too early, after a waiting record was matched.
        """
        reach = ((self._left_waiting, self._windows.after_ms), (self._right_waiting, self._windows.before_ms))
        first_times = [(side.first_time(), after) for side, after in reach if side is not None]
        due = [first + after + self._windows.grace_ms + 1 for first, after in first_times if first is not None]
        return min(due, default=None)


V = TypeVar("V")


def _matches(store: WindowStore[V], key: str, window: Window) -> list[WindowEntry[V]]:
    return list(store.fetch(key, window.start, window.end))


def _forget(waiting: JoinBuffer[V] | None, other: WindowEntry[V]) -> None:
    if waiting is not None:
        waiting.remove(other.start, other.key)


def _check_store(store: WindowStore[V], windows: JoinWindows) -> None:
    if store.duplicates is not Duplicates.KEEP:
        raise ValueError(
            f"store {store.name}: a join must keep every record; give the store duplicates=Duplicates.KEEP"
        )
    if store.retention_ms < windows.retention_ms:
        raise ValueError(
            f"store {store.name}: retention_ms {store.retention_ms} is shorter than the join's window and grace; "
            f"specify at least {windows.retention_ms} ms"
        )
