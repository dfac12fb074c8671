"""Timers of a task, in processing time and in event time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.processor.api import Context
from forebay.stateful.handles import TimerCalls
from forebay.stateful.states import Grouping
from forebay.stateful.stores import TimerStore

_MOST_AT_ONCE = 1_000
"""Timers of processing time that fire together; the others fire at the next punctuation."""


class Timers:
    """Timers by grouping key and expiry (ms).

    Those of event time are also timers of the task, which fire as its stream time passes.

    Args:
        name: begins the names of the task's timers.
        delay_ms: how far the watermark is behind stream time; None: timers are of processing time.
    """

    def __init__(self, store: TimerStore, grouping: Grouping, name: str, delay_ms: int | None) -> None:
        self._store, self._grouping = store, grouping
        self._name, self._delay_ms = name, delay_ms
        self.ctx: Context[Any]
        """Of the call in progress."""

    @property
    def calls(self) -> TimerCalls:
        """What a handle offers."""
        return TimerCalls(self.register, self.delete, self.list)

    def register(self, expiry: int) -> None:
        """Set a timer of the grouping key in hand; a second one of the same time changes nothing."""
        key = self._grouping.require()
        if self._store.has(key, expiry):
            return
        self._store.add(key, expiry)
        if self._delay_ms is None:
            self._store.add_due(key, expiry)
        else:
            self.ctx.schedule(self._task_timer(expiry), expiry + self._delay_ms, self._grouping.text)

    def delete(self, expiry: int) -> None:
        """Delete a timer of the grouping key in hand."""
        key = self._grouping.require()
        if self._store.has(key, expiry):
            self._store.remove(key, expiry)
            if self._delay_ms is not None:
                self.ctx.cancel(self._task_timer(expiry), self._grouping.text)

    def list(self) -> list[int]:
        """Return the expiries of the grouping key in hand, in order."""
        return self._store.expiries(self._grouping.require())

    def is_set(self, text: str, expiry: int) -> bool:
        """Return whether a timer of a grouping key is still set."""
        return self._store.has(text.encode(), expiry)

    def drop(self, text: str, expiry: int) -> None:
        """Forget a timer that fired."""
        self._store.remove(text.encode(), expiry)

    def first_due(self, now: int) -> Iterator[tuple[int, str]]:
        """Return (expiry, grouping key) of timers of processing time that are due."""
        timers = self._store.first_due(now, _MOST_AT_ONCE)
        yield from ((expiry, key.decode()) for expiry, key in timers)
        if timers:
            self._store.note_first()

    def expiry_of(self, task_timer: str) -> int:
        """Return the expiry of a timer of the task, by its name."""
        return int(task_timer[len(self._name) :])

    def task_timer_name(self, expiry: int) -> str:
        """Return the name under which errors of a timer are reported."""
        return self._task_timer(expiry)

    def _task_timer(self, expiry: int) -> str:
        return f"{self._name}{expiry}"
