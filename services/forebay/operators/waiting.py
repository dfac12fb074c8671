"""Wakes a task whose stream waits for a table, when the stream is idle."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from forebay.operators.results import Result
from forebay.operators.stream_table import StreamTableJoin
from forebay.processor.api import Context
from forebay.stores.buffers import Buffered

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741

_TASK = ""


class Waiting(Generic[L, R, O]):
    """A join with a grace, and the task's one timer that lets records go while nothing comes.

    The join's grace counts the stream's own time, moved on by the task's idle time: the table's records move the
    task's stream time, but let nothing go.

    Args:
        timer: the timer's name.
    """

    def __init__(self, join: StreamTableJoin[L, R, O], timer: str) -> None:
        self.join = join
        self.timer = timer

    def process(self, key: str | None, value: L | None, timestamp: int, ctx: Context[Any]) -> list[Result[O]]:
        """Join one stream record (ms), or keep it; return what need not wait any longer."""
        results = self.join.process(key, value, timestamp)
        self.watch(ctx)
        return results

    def on_timer(self, ctx: Context[Any]) -> list[Result[O]]:
        """Join what has waited long enough; call it when the timer fires."""
        results = [result for waiting in self.take(ctx) for result in self.join.join(waiting)]
        self.watch(ctx)
        return results

    def take(self, ctx: Context[Any]) -> list[Buffered[L]]:
        """Take the records out that have waited long enough, by the stream's time and the time it has been idle."""
        return self.join.take(self.join.stream_time + ctx.closing_time - ctx.current_stream_time)

    def watch(self, ctx: Context[Any]) -> None:
        """Set the timer for the first record that waits."""
        due = self.join.next_release()
        if due is not None:
            # At least one ms ahead: a timer that is due already would fire again in the same step, and for ever.
            ctx.schedule(
                self.timer, max(due + ctx.current_stream_time - self.join.stream_time, ctx.closing_time + 1), _TASK
            )
