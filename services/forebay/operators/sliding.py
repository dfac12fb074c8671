"""Aggregates over sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.operators.window import CLOSED
from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import WindowEntry
from forebay.time.base import Window
from forebay.time.windows import SlidingWindows

V = TypeVar("V")
A = TypeVar("A")


class SlidingAggregate(Generic[V, A]):
    """An aggregate per key and sliding window, as in Kafka Streams. SlidingWindows describes which windows there are.

    A record is added, in order of arrival, to every window of its key that contains its timestamp and still accepts
    records. A new window begins with the aggregate of the neighboring window that has the same records
    (KStreamSlidingWindowAggregate), so the records themselves are not stored. Times are in ms. `now` is the task's
    closing time.

    Args:
        store: Store of one aggregate per key and window, by the window's start.
        initial, add: As in WindowAggregate.
    """

    def __init__(
        self,
        store: WindowStore[A],
        windows: SlidingWindows,
        *,
        initial: Callable[[], A],
        add: Callable[[str, V, A], A],
        emission: Emission = Emission.UPDATES,
    ) -> None:
        if store.retention_ms < windows.retention_ms:
            raise ValueError(
                f"store {store.name}: retention_ms {store.retention_ms} is shorter than two windows and the grace; "
                f"specify at least {windows.retention_ms} ms"
            )
        self.store = store
        self.windows = windows
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._emission = emission

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Aggregate one record. Return the updated results by window, and final results."""
        now = max(now, timestamp)
        finals = tuple(self.close(now))
        until = self.windows.closed_until(now)
        if timestamp + self.windows.difference_ms <= until:
            return Outcome((), finals, 1, until + 1 - self.windows.difference_ms - timestamp)
        updates: list[WindowResult[A]] = []
        before: list[Stamped[A] | None] = []
        refused = late_by = 0
        for start, (beginning, is_added) in sorted(self._changed_windows(key, timestamp).items()):
            window = self.windows.window_from(start)
            if window.end <= until:
                # A window that only contains other records is not refused, because the record is not in it.
                refused, late_by = refused + is_added, until + 1 - window.end
                continue
            existing = beginning if beginning is not None and beginning.start == start else None
            before.append(None if existing is None else Stamped(existing.value, existing.timestamp))
            updates.append(self._put(key, window, value if is_added else None, beginning, timestamp))
        if self._emission is Emission.UPDATES:
            return Outcome(tuple(updates), (), refused, late_by, None, tuple(before))
        closes_at = self.windows.closes_at(updates[0].window) if updates else None
        if self._emission is Emission.FINAL:
            return Outcome((), finals, refused, late_by, closes_at)
        return Outcome(tuple(updates), finals, refused, late_by, closes_at, tuple(before))

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the windows that became final by the closing time `now`, each once, sorted by start and key."""
        last = self.windows.closed_until(now) - self.windows.difference_ms
        done = self.store.marks.get(CLOSED)
        if self._emission is Emission.UPDATES or last <= done:
            return []
        # The mark is a time and not the start of the last window, because a window that is opened later but starts
        # earlier is already closed.
        self.store.marks.set(CLOSED, last)
        return [
            WindowResult(entry.key, self.windows.window_from(entry.start), entry.value, entry.timestamp)
            for entry in self.store.fetch_all(done + 1, last)
        ]

    def next_close(self) -> int | None:
        """Return the closing time at which `close` returns the next window, or None if there is no open window."""
        if self._emission is Emission.UPDATES:
            return None
        start = self.store.first_start(self.store.marks.get(CLOSED) + 1)
        return None if start is None else self.windows.closes_at(self.windows.window_from(start))

    def _changed_windows(self, key: str, timestamp: int) -> dict[int, tuple[WindowEntry[A] | None, bool]]:
        """Return the windows that a record changes or opens, by start.

        The first item is the window that provides its initial aggregate: itself, or a window with the same records.
        None: it has no records yet. The second item is whether the record is added to it.
        """
        difference = self.windows.difference_ms
        own = max(0, timestamp - difference)
        entries: dict[int, tuple[WindowEntry[A] | None, bool]] = {}
        left: WindowEntry[A] | None = None
        right: WindowEntry[A] | None = None
        previous: int | None = None
        has_right = False
        # Read twice the difference. A window that ends before the record also matters, because its latest record may
        # be in the window that ends at this record.
        for entry in self.store.fetch(key, max(0, timestamp - 2 * difference), timestamp + 1):
            # The window after the record already exists, so it has its records and needs no other beginning.
            if entry.start > timestamp:
                has_right = True
            elif entry.start + difference < timestamp:
                left, previous = entry, entry.timestamp
            else:
                entries[entry.start] = entry, True
                if entry.start == own and entry.timestamp < timestamp:
                    previous = entry.timestamp
                if entry.start + difference > timestamp:
                    right = entry
        if previous is not None and timestamp <= previous + 1 + difference:
            # The window that begins right after the previous record. This record is the first one in it.
            entries.setdefault(previous + 1, (None, True))
        if own not in entries:
            # The window that ends at the record. If the previous record is in it, it has the same records as that
            # record's window.
            is_left = previous is not None and previous >= own
            entries[own] = left if is_left else None, True
        if not has_right and right is not None and right.timestamp > timestamp:
            # The window that begins right after the record has the later records of a window that contains the record,
            # without the record itself.
            entries[timestamp + 1] = right, False
        return entries

    def _put(
        self, key: str, window: Window, value: V | None, beginning: WindowEntry[A] | None, timestamp: int
    ) -> WindowResult[A]:
        aggregate: A | None = self._initial() if beginning is None else beginning.value
        if value is not None:
            aggregate = self._add(key, value, self._initial() if aggregate is None else aggregate)
        elif beginning is not None:
            timestamp = beginning.timestamp
        stamped = self.store.update(key, window.start, timestamp, lambda _: aggregate)
        assert stamped is not None, "the store keeps every window that accepts records"
        return WindowResult(key, window, stamped.value, stamped.timestamp)
