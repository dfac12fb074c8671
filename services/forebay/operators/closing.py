"""Wakes a task when its next window or session closes, on an idle topic too."""

from __future__ import annotations

from typing import Any

from forebay.processor.api import Context
from forebay.stores.binding import Marks
from forebay.stores.keys import FOREVER

_DUE = b"close-due"
_TASK = ""


class Closing:
    """One timer of the task, due when the earliest open window (or session) closes.

    Without it finals come out with the next record that moves time; with it they also come out on an idle topic.

    Args:
        marks: of the store that holds what is open; remembers what the timer is set to.
        timer: the timer's name.
    """

    def __init__(self, marks: Marks, timer: str = "close") -> None:
        self._marks = marks
        self.timer = timer

    def watch(self, ctx: Context[Any], due: int) -> None:
        """Have the timer fire at `due` (ms) or before; call it for each window or session that a record opened."""
        known = self._marks.get(_DUE, FOREVER)
        # The timer that is set fires first, and `schedule_next` sets the next one. A put per record would write a row
        # each time.
        if due < known or known <= ctx.closing_time:
            self._set(ctx, due)

    def schedule_next(self, ctx: Context[Any], next_due: int | None) -> None:
        """Set the next timer after one fired; None: nothing is open."""
        if next_due is None:
            self._marks.set(_DUE, FOREVER)
        else:
            self._set(ctx, next_due)

    def _set(self, ctx: Context[Any], due: int) -> None:
        self._marks.set(_DUE, due)
        ctx.schedule(self.timer, due, _TASK)
