"""Aggregates over sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.window import Duplicates, WindowStore
from forebay.time.windows import SlidingWindows, Window

V = TypeVar("V")
A = TypeVar("A")

_CLOSED = b"closed-before"
_NEVER = -(1 << 62)


class SlidingAggregate(Generic[V, A]):
    """Folds records into the windows [ts - difference, ts] that end with each record of the key.

    A record is added to every window of the key that it lies in and that still accepts records; its own window
    starts from the records already there. Times are in ms; `now` is the task's closing time.

    Args:
        records: holds the records, with Duplicates.KEEP.
        store: holds one aggregate per key and window, by the window's end.
        initial, add: as in WindowAggregate.
    """

    def __init__(
        self,
        records: WindowStore[V],
        store: WindowStore[A],
        windows: SlidingWindows,
        *,
        initial: Callable[[], A],
        add: Callable[[str, V, A], A],
        emission: Emission = Emission.UPDATES,
    ) -> None:
        if records.duplicates is not Duplicates.KEEP:
            raise ValueError(f"store {records.name}: records must all be kept; give it duplicates=Duplicates.KEEP")
        for each in (records, store):
            if each.retention_ms < windows.retention_ms:
                raise ValueError(
                    f"store {each.name}: retention_ms {each.retention_ms} is shorter than two windows and the grace; "
                    f"give at least {windows.retention_ms} ms"
                )
        self._records = records
        self.store = store
        self.windows = windows
        self._initial = initial
        self._add = add
        self._emission = emission

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Fold one record in; give results by window, then finals."""
        now = max(now, timestamp)
        finals = tuple(self.close(now))
        own = self.windows.window_ending(timestamp)
        refused = int(self.windows.is_closed(own, now))
        later = list(self.store.fetch(key, timestamp, timestamp + self.windows.difference_ms))
        updates: list[WindowResult[A]] = []
        if not refused and not (later and later[0].start == timestamp):
            updates.append(self._open(key, value, own))
        for entry in later:
            window = self.windows.window_ending(entry.start)
            if self.windows.is_closed(window, now):
                continue
            updates.append(self._put(key, window, self._add(key, value, entry.value)))
        self._records.put(key, value, timestamp)
        late_by = now - self.windows.grace_ms - own.end if refused else 0
        shown = () if self._emission is Emission.FINAL else tuple(updates)
        return Outcome(shown, finals, refused, late_by)

    def close(self, now: int) -> list[WindowResult[A]]:
        """Give the windows that became final by closing time `now`, each once: by start, then key."""
        before = now - self.windows.grace_ms
        closed = self.store.marks.get(_CLOSED, _NEVER)
        if self._emission is Emission.UPDATES or before <= closed:
            return []
        self.store.marks.set(_CLOSED, before)
        return [
            WindowResult(entry.key, self.windows.window_ending(entry.start), entry.value, entry.timestamp)
            for entry in self.store.fetch_all(closed, before - 1)
        ]

    def _open(self, key: str, value: V, window: Window) -> WindowResult[A]:
        aggregate = self._initial()
        for entry in self._records.fetch(key, window.start, window.end):
            aggregate = self._add(key, entry.value, aggregate)
        return self._put(key, window, self._add(key, value, aggregate))

    def _put(self, key: str, window: Window, aggregate: A) -> WindowResult[A]:
        self.store.put(key, aggregate, window.end)
        return WindowResult(key, window, aggregate, window.end)
