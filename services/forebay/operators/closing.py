"""The timer that fires when a task's next window or session closes."""

from __future__ import annotations

from typing import Any

from forebay.processor.api import NO_KEY, Context
from forebay.stores.binding import Marks
from forebay.stores.keys import FOREVER

_DUE = b"close-due"


class Closing:
    """A timer of the task that is due when the earliest open window or session closes.

    Without it, final results are emitted with the next record that advances time. With it, they are also emitted while
    the topic is idle.

    Args:
        marks: Marks of the store of the windows or sessions. One of them records the time for which the timer is set.
        timer: Name of the timer.
    """

    def __init__(self, marks: Marks, timer: str = "close") -> None:
        self._marks = marks
        self.timer = timer

    def watch(self, ctx: Context[Any], due: int) -> None:
        """Make the timer fire at `due` (ms) or earlier. Call this for each window or session that a record opens."""
        known = self._marks.get(_DUE, FOREVER)
        # If the timer is set for an earlier time, it fires first and `schedule_next` sets the next one. Setting it for
        # each record would write a row each time.
        if due < known or known <= ctx.closing_time:
            self._set(ctx, due)

    def schedule_next(self, ctx: Context[Any], next_due: int | None) -> None:
        """Set the timer again after it fired. None: no window or session is open."""
        if next_due is None:
            self._marks.set(_DUE, FOREVER)
        else:
            self._set(ctx, next_due)

    def _set(self, ctx: Context[Any], due: int) -> None:
        self._marks.set(_DUE, due)
        ctx.schedule(self.timer, due, NO_KEY)
