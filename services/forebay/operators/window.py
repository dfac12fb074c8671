"""Aggregates over tumbling and hopping windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.window import WindowStore
from forebay.time.windows import TimeWindows, UnlimitedWindows, Window

V = TypeVar("V")
A = TypeVar("A")

_CLOSED = b"closed-start"


class WindowAggregate(Generic[V, A]):
    """Folds records into windows; no final is lost or given twice, however far time jumps.

    Times are in ms. `now` is the task's closing time with this record in it (`ctx.closing_time`).

    Args:
        store: holds one aggregate per key and window; its retention must cover size plus grace.
        initial: the aggregate of no records.
        add: gives the aggregate with one more record; called with key, value, aggregate.
    """

    def __init__(
        self,
        store: WindowStore[A],
        windows: TimeWindows | UnlimitedWindows,
        initial: Callable[[], A],
        add: Callable[[str, V, A], A],
        *,
        emission: Emission = Emission.UPDATES,
    ) -> None:
        if store.retention_ms < windows.retention_ms:
            raise ValueError(
                f"store {store.name}: retention_ms {store.retention_ms} is shorter than its windows and their grace; "
                f"give at least {windows.retention_ms} ms (size {windows.size_ms} + grace {windows.grace_ms})"
            )
        self.store = store
        self.windows = windows
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._emission = emission

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Fold one record in; give results, finals in order of window start, then key."""
        if timestamp > now:
            now = timestamp
        finals = self.close(now)
        updates: list[WindowResult[A]] = []
        before: list[A | None] = []
        refused = last_end = 0
        open_from = self.windows.closed_until(now)
        for window in self.windows.windows_for(timestamp):
            if window.end > open_from:
                updates.append(self._fold(key, value, timestamp, window, before))
            else:
                refused, last_end = refused + 1, window.end
        late_by = open_from - last_end if refused else 0
        if self._emission is Emission.UPDATES:
            return Outcome(tuple(updates), (), refused, late_by, None, tuple(before))
        closes_at = self.windows.closes_at(updates[0].window) if updates else None
        shown = () if self._emission is Emission.FINAL else tuple(updates)
        return Outcome(shown, tuple(finals), refused, late_by, closes_at, tuple(before) if shown else ())

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the windows that became final by closing time `now`, each once: by start, then key."""
        if self._emission is Emission.UPDATES:
            return []
        size, advance = self.windows.size_ms, self.windows.advance_ms
        last = (self.windows.closed_until(now) - size) // advance * advance
        done = self.store.marks.get(_CLOSED)
        if last <= done:
            return []
        self.store.marks.set(_CLOSED, last)
        return [
            WindowResult(entry.key, Window(entry.start, entry.start + size), entry.value, entry.timestamp)
            for entry in self.store.fetch_all(done + 1, last)
        ]

    def next_close(self) -> int | None:
        """Return the closing time at which the first window `close` has not given becomes final; None: none."""
        if self._emission is Emission.UPDATES:
            return None
        start = self.store.first_start(self.store.marks.get(_CLOSED) + 1)
        return None if start is None else self.windows.closes_at(Window(start, start + self.windows.size_ms))

    def _fold(self, key: str, value: V, timestamp: int, window: Window, before: list[A | None]) -> WindowResult[A]:
        def added(found: A | None) -> A:
            before.append(found)
            return self._add(key, value, self._initial() if found is None else found)

        changed = self.store.update(key, window.start, timestamp, added)
        assert changed is not None, "the store keeps every window that accepts records"
        return WindowResult(key, window, changed.value, changed.timestamp)
