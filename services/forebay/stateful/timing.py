"""Processing-time and event-time timers of a task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.processor.api import Context
from forebay.stateful.handles import TimerCalls
from forebay.stateful.states import Grouping
from forebay.stateful.stores import TimerStore

_MOST_AT_ONCE = 1_000
"""Largest number of processing-time timers that fire in one punctuation. The others fire in the next one."""


class Timers:
    """Timers by grouping key and expiry (ms).

    Event-time timers are also timers of the task, which fire when its stream time advances.

    Args:
        name: Prefix of the names of the task's timers.
        delay_ms: Time (ms) by which the watermark is behind stream time. None for processing-time timers.
    """

    def __init__(self, store: TimerStore, grouping: Grouping, name: str, delay_ms: int | None) -> None:
        self._store, self._grouping = store, grouping
        self._name, self._delay_ms = name, delay_ms
        self.ctx: Context[Any]
        """Of the call in progress."""

    @property
    def calls(self) -> TimerCalls:
        """The functions that a handle needs."""
        return TimerCalls(self.register, self.delete, self.list)

    def register(self, expiry: int) -> None:
        """Set a timer of the current grouping key. If there is a timer with this expiry, nothing changes."""
        key = self._grouping.require()
        if self._store.has(key, expiry):
            return
        self._store.add(key, expiry)
        if self._delay_ms is None:
            self._store.add_due(key, expiry)
        else:
            self.ctx.schedule(self._task_timer(expiry), expiry + self._delay_ms, self._grouping.text)

    def delete(self, expiry: int) -> None:
        """Delete a timer of the current grouping key."""
        key = self._grouping.require()
        if self._store.has(key, expiry):
            self._store.remove(key, expiry)
            if self._delay_ms is not None:
                self.ctx.cancel(self._task_timer(expiry), self._grouping.text)

    def list(self) -> list[int]:
        """Return the expiries of the current grouping key's timers in ascending order."""
        return self._store.expiries(self._grouping.require())

    def is_set(self, text: str, expiry: int) -> bool:
        """Return whether a timer of a grouping key is still set."""
        return self._store.has(text.encode(), expiry)

    def drop(self, text: str, expiry: int) -> None:
        """Delete a timer that has fired."""
        self._store.remove(text.encode(), expiry)

    def first_due(self, now: int) -> Iterator[tuple[int, str]]:
        """Return (expiry, grouping key) of the processing-time timers that are due."""
        timers = self._store.first_due(now, _MOST_AT_ONCE)
        yield from ((expiry, key.decode()) for expiry, key in timers)
        if timers:
            self._store.note_first()

    def expiry_of(self, task_timer: str) -> int:
        """Return the expiry of a task's timer from its name."""
        return int(task_timer[len(self._name) :])

    def task_timer_name(self, expiry: int) -> str:
        """Return the name under which errors of a timer are reported."""
        return self._task_timer(expiry)

    def _task_timer(self, expiry: int) -> str:
        return f"{self._name}{expiry}"
