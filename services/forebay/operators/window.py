"""Aggregates over time windows: tumbling, hopping and unlimited ones, and subclasses of Windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.keys import FOREVER
from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore
from forebay.time.base import Window, Windows

V = TypeVar("V")
A = TypeVar("A")

CLOSED = b"closed-start"
"""Mark of a window store: the last start of a window whose final result was emitted."""

_NEXT_CLOSE = b"next-close"


class WindowAggregate(Generic[V, A]):
    """An aggregate per key and window. Each final result is emitted exactly once, even if time jumps ahead.

    Times are in ms. `now` is the task's closing time, including this record (`ctx.closing_time`).

    Args:
        store: Store of one aggregate per key and window. Its retention must be at least size plus grace.
        initial: Function that returns the aggregate of no records.
        add: Function of key, value and aggregate that returns the aggregate with the record. If it returns None, the
            row is deleted.
    """

    def __init__(
        self,
        store: WindowStore[A],
        windows: Windows,
        initial: Callable[[], A],
        add: Callable[[str, V, A], A],
        *,
        emission: Emission = Emission.UPDATES,
    ) -> None:
        if store.retention_ms < windows.retention_ms:
            raise ValueError(
                f"store {store.name}: retention_ms {store.retention_ms} is shorter than its windows and their grace; "
                f"specify at least {windows.retention_ms} ms (size {windows.size_ms} + grace {windows.grace_ms})"
            )
        self.store = store
        self.windows = windows
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._emission = emission

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Aggregate one record. Return the updated results by window, and final results by window start and key."""
        if timestamp > now:
            now = timestamp
        # Close windows first. Final results that the record's time makes due are emitted before its own results.
        finals = self.close(now)
        updates: list[WindowResult[A]] = []
        before: list[Stamped[A] | None] = []
        refused = last_end = 0
        open_from = self.windows.closed_until(now)
        for window in self.windows.windows_for(timestamp):
            if window.end > open_from:
                updates.append(self._fold(key, value, timestamp, window, before))
            else:
                # The record is late by the time since the last of these windows closed.
                refused, last_end = refused + 1, window.end
        late_by = open_from - last_end if refused else 0
        if self._emission is Emission.UPDATES:
            return Outcome(tuple(updates), (), refused, late_by, None, tuple(before))
        # The first window that accepted the record closes first, because a window that starts later does not end
        # earlier.
        closes_at = self.windows.closes_at(updates[0].window) if updates else None
        if closes_at is not None and closes_at < self.store.marks.get(_NEXT_CLOSE, FOREVER):
            self.store.marks.set(_NEXT_CLOSE, closes_at)
        shown = () if self._emission is Emission.FINAL else tuple(updates)
        return Outcome(shown, tuple(finals), refused, late_by, closes_at, tuple(before) if shown else ())

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the windows that became final by the closing time `now`, each once, sorted by start and key."""
        # Most records close nothing. The mark avoids the scan below.
        if self._emission is Emission.UPDATES or now < self.store.marks.get(_NEXT_CLOSE, 0):
            return []
        finals: list[WindowResult[A]] = []
        until, done, next_close = self.windows.closed_until(now), self.store.marks.get(CLOSED), FOREVER
        # `done` is the start of the last window that was emitted. The search continues after it, even if time has
        # jumped ahead since, so that every window is emitted exactly once.
        for entry in self.store.fetch_all(done + 1, FOREVER):
            window = self.windows.window_from(entry.start)
            # Windows are in order of their starts, and a later start never has an earlier end, so the search can stop.
            if window.end > until:
                next_close = self.windows.closes_at(window)
                break
            finals.append(WindowResult(entry.key, window, entry.value, entry.timestamp))
        if finals:
            self.store.marks.set(CLOSED, finals[-1].window.start)
        self.store.marks.set(_NEXT_CLOSE, next_close)
        return finals

    def next_close(self) -> int | None:
        """Return the closing time at which `close` returns the next window, or None if there is no open window."""
        if self._emission is Emission.UPDATES:
            return None
        start = self.store.first_start(self.store.marks.get(CLOSED) + 1)
        return None if start is None else self.windows.closes_at(self.windows.window_from(start))

    def _fold(
        self, key: str, value: V, timestamp: int, window: Window, before: list[Stamped[A] | None]
    ) -> WindowResult[A]:
        def append_value(row: Stamped[A] | None) -> A | None:
            before.append(row)
            return self._add(key, value, self._initial() if row is None else row.value)

        changed = self.store.update_entry(key, window.start, timestamp, append_value)
        assert changed is not None, "the store keeps every window that accepts records"
        return WindowResult(key, window, changed.value, changed.timestamp)
