"""The timer of a stream-table join with a grace, for idle streams."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from forebay.operators.results import Result
from forebay.operators.stream_table import StreamTableJoin
from forebay.processor.api import NO_KEY, Context
from forebay.stores.buffers import Buffered

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741


class Waiting(Generic[L, R, O]):
    """A join with a grace, and the timer of the task that releases its records while no record arrives.

    The grace is measured in the time of the stream side, advanced by the task's idle time. Records of the table advance
    the task's stream time, but release no record.

    Args:
        timer: Name of the timer.
    """

    def __init__(self, join: StreamTableJoin[L, R, O], timer: str) -> None:
        self.join = join
        self.timer = timer

    def process(self, key: str | None, value: L | None, timestamp: int, ctx: Context[Any]) -> list[Result[O]]:
        """Join one stream record (timestamp in ms) or buffer it. Return the results of records that need not wait."""
        results = self.join.process(key, value, timestamp)
        self.watch(ctx)
        return results

    def on_timer(self, ctx: Context[Any]) -> list[Result[O]]:
        """Return the results of records whose wait has ended. Call this when the timer fires."""
        results = [result for waiting in self.take(ctx) for result in self.join.join(waiting)]
        self.watch(ctx)
        return results

    def take(self, ctx: Context[Any]) -> list[Buffered[L]]:
        """Remove and return records whose wait has ended, by the time of the stream side plus the task's idle time."""
        return self.join.take(self.join.stream_time + ctx.closing_time - ctx.current_stream_time)

    def watch(self, ctx: Context[Any]) -> None:
        """Set the timer for the first waiting record."""
        due = self.join.next_release()
        if due is not None:
            # At least one ms ahead. A timer that is already due would fire again in the same step, endlessly.
            ctx.schedule(
                self.timer, max(due + ctx.current_stream_time - self.join.stream_time, ctx.closing_time + 1), NO_KEY
            )
