"""Aggregates over sliding windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.window import Duplicates, WindowEntry, WindowStore
from forebay.time.windows import SlidingWindows, Window

V = TypeVar("V")
A = TypeVar("A")

_CLOSED = b"closed-start"


class SlidingAggregate(Generic[V, A]):
    """Folds records into Kafka Streams' sliding windows: see SlidingWindows for which there are.

    A record is added to every window of the key that it lies in and that still accepts records; new windows start
    from the records already there. Times are in ms; `now` is the task's closing time.

    Args:
        records: holds the records, with Duplicates.KEEP.
        store: holds one aggregate per key and window, by the window's start.
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
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._emission = emission

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Fold one record in; give results by window, then finals."""
        now = max(now, timestamp)
        finals = tuple(self.close(now))
        if timestamp + self.windows.difference_ms + self.windows.grace_ms < now:
            late_by = now - self.windows.grace_ms - self.windows.difference_ms - timestamp
            return Outcome((), finals, 1, late_by)
        self._records.put(key, value, timestamp)
        found = {entry.start: entry.value for entry in self._entries(key, timestamp)}
        updates: list[WindowResult[A]] = []
        before: list[A | None] = []
        refused = late_by = 0
        for start in sorted({*found, *self._new(key, timestamp, found)}):
            window = self.windows.window_from(start)
            if self.windows.is_closed(window, now):
                if start <= timestamp:
                    refused, late_by = refused + 1, now - self.windows.grace_ms - window.end
            elif start in found:
                updates.append(self._put(key, window, self._add(key, value, found[start]), timestamp))
                before.append(found[start])
            else:
                updates.append(self._open(key, window))
                before.append(None)
        if self._emission is Emission.UPDATES:
            return Outcome(tuple(updates), (), refused, late_by, None, tuple(before))
        closes_at = self.windows.closes_at(updates[0].window) if updates else None
        if self._emission is Emission.FINAL:
            return Outcome((), finals, refused, late_by, closes_at)
        return Outcome(tuple(updates), finals, refused, late_by, closes_at, tuple(before))

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the windows that became final by closing time `now`, each once: by start, then key."""
        last = now - self.windows.grace_ms - self.windows.difference_ms - 1
        done = self.store.marks.get(_CLOSED)
        if self._emission is Emission.UPDATES or last <= done:
            return []
        self.store.marks.set(_CLOSED, last)
        return [
            WindowResult(entry.key, self.windows.window_from(entry.start), entry.value, entry.timestamp)
            for entry in self.store.fetch_all(done + 1, last)
        ]

    def next_close(self) -> int | None:
        """Return the closing time at which the first window `close` has not given becomes final; None: none."""
        if self._emission is Emission.UPDATES:
            return None
        start = self.store.first_start(self.store.marks.get(_CLOSED) + 1)
        return None if start is None else self.windows.closes_at(self.windows.window_from(start))

    def _entries(self, key: str, timestamp: int) -> Iterator[WindowEntry[A]]:
        return self.store.fetch(key, max(0, timestamp - self.windows.difference_ms), timestamp)

    def _new(self, key: str, timestamp: int, found: Mapping[int, A]) -> Iterator[int]:
        """Yield the starts of the windows that the record makes: its own, one behind it, one behind its predecessor."""
        difference = self.windows.difference_ms
        own = self.windows.window_ending(timestamp).start
        if own not in found:
            yield own
        behind = timestamp + 1
        later = self._records.fetch(key, behind, behind + difference)
        if next(later, None) is not None and self.store.fetch_one(key, behind) is None:
            yield behind
        earlier = self._records.backward_fetch(key, max(0, timestamp - difference - 1), timestamp - 1)
        previous = next(earlier, None)
        if previous is not None and previous.start + 1 not in found:
            yield previous.start + 1

    def _open(self, key: str, window: Window) -> WindowResult[A]:
        aggregate, newest = self._initial(), -1
        for entry in self._records.fetch(key, window.start, window.end):
            aggregate, newest = self._add(key, entry.value, aggregate), entry.start
        return self._put(key, window, aggregate, newest)

    def _put(self, key: str, window: Window, aggregate: A, timestamp: int) -> WindowResult[A]:
        stamped = self.store.update(key, window.start, timestamp, lambda _: aggregate)
        assert stamped is not None, "the store keeps every window that accepts records"
        return WindowResult(key, window, aggregate, stamped.timestamp)
