"""Time windows: which windows contain a record, accept it or are closed (semantics.md, windows)."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.time.base import FOREVER, Window, Windows, check_grace
from forebay.time.durations import Duration, ms_of, set_durations


@dataclass(frozen=True, slots=True)
class TimeWindows(Windows):
    """Windows [start, start + size_ms) that start at the multiples of `advance_ms`.

    Args:
        size_ms: Length of a window, in ms or as a timedelta.
        advance_ms: Distance of the starts, 0 < advance_ms <= size_ms. If it is equal to the size, the windows are
            tumbling windows, otherwise hopping windows.
        grace_ms: How long after its end a window accepts records, in ms of stream time or as a timedelta.
    """

    size_ms: int
    advance_ms: int
    grace_ms: int = 0

    def __init__(self, size_ms: Duration, advance_ms: Duration, grace_ms: Duration = 0) -> None:
        set_durations(self, size_ms=size_ms, advance_ms=advance_ms, grace_ms=grace_ms)
        if self.size_ms < 1:
            raise ValueError(f"windows of {self.size_ms} ms: use a size of at least 1 ms")
        if not 0 < self.advance_ms <= self.size_ms:
            raise ValueError(
                f"windows of {self.size_ms} ms can't advance by {self.advance_ms} ms: use 1 to {self.size_ms} ms"
            )
        check_grace(self.grace_ms)

    def windows_for(self, ts: int) -> list[Window]:
        """Return the windows that contain `ts`, sorted by start. Raise ValueError if it is negative."""
        if ts < 0:
            raise ValueError(f"the time {ts} is negative: windows start at 0")
        size, advance = self.size_ms, self.advance_ms
        # Windows never start before 0, as in Kafka Streams' `TimeWindows.windowsFor`. Early timestamps therefore have
        # fewer hopping windows.
        first = max(0, ts - size + advance) // advance * advance
        return [Window(start, start + size) for start in range(first, ts + 1, advance)]

    def window_from(self, start: int) -> Window:
        return Window(start, start + self.size_ms)


def tumbling(size_ms: Duration, grace_ms: Duration = 0) -> TimeWindows:
    """Return windows that do not overlap: each record belongs to one window."""
    return TimeWindows(size_ms, size_ms, grace_ms)


def hopping(size_ms: Duration, advance_ms: Duration, grace_ms: Duration = 0) -> TimeWindows:
    """Return windows that overlap: each record belongs to size_ms / advance_ms windows."""
    return TimeWindows(size_ms, advance_ms, grace_ms)


@dataclass(frozen=True, slots=True)
class UnlimitedWindows(Windows):
    """One window without an end, which never closes.

    Args:
        start_ms: Start of the window, in ms. Earlier records belong to no window.
    """

    start_ms: int = 0
    grace_ms: int = 0

    def __init__(self, start_ms: int = 0, grace_ms: Duration = 0) -> None:
        set_durations(self, start_ms=start_ms, grace_ms=grace_ms)

    @property
    def retention_ms(self) -> int:
        """Shortest retention of a store that holds the window, in ms."""
        return FOREVER

    @property
    def size_ms(self) -> int:
        """Length of the window, in ms."""
        return FOREVER

    def windows_for(self, ts: int) -> list[Window]:
        """Return the window if it contains `ts`, otherwise an empty list."""
        return [Window(self.start_ms, FOREVER)] if ts >= self.start_ms else []

    def window_from(self, start: int) -> Window:
        return Window(start, FOREVER)

    def closed_until(self, now: int) -> int:
        """Return -1, because the window never closes."""
        return -1

    def closes_at(self, window: Window) -> int:
        """Return FOREVER, because the window never becomes final."""
        return FOREVER


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Windows [start, start + difference_ms], both inclusive, one for each set of a key's records that fits into one.

    As in Kafka Streams, each record at `ts` creates the window that ends at `ts`. If the window that begins right after
    `ts` has records, it is created, too. Records before `difference_ms` share the window that starts at 0.

    Args:
        difference_ms: Maximum time between two records of a window, in ms or as a timedelta.
        grace_ms: How long after its end a window accepts records, in ms of stream time or as a timedelta.
    """

    difference_ms: int
    grace_ms: int = 0

    def __init__(self, difference_ms: Duration, grace_ms: Duration = 0) -> None:
        set_durations(self, difference_ms=difference_ms, grace_ms=grace_ms)
        if self.difference_ms < 0:
            raise ValueError(f"sliding windows of {self.difference_ms} ms: use a difference of at least 0 ms")
        check_grace(self.grace_ms)

    @property
    def retention_ms(self) -> int:
        """Shortest retention of a store that holds these windows, in ms."""
        # A new window begins with the aggregate of its left neighbor, which may start two differences before the
        # record. Kafka Streams requires this minimum, too.
        return 2 * self.difference_ms + self.grace_ms + 2

    def window_ending(self, ts: int) -> Window:
        """Return the window that ends at `ts`. It starts at 0 at the earliest."""
        return self.window_from(max(0, ts - self.difference_ms))

    def window_from(self, start: int) -> Window:
        """Return the window that starts at `start`."""
        return Window(start, start + self.difference_ms)

    def closed_until(self, now: int) -> int:
        """Return the latest end of a window that is closed at the closing time `now`."""
        return now - self.grace_ms - 1

    def closes_at(self, window: Window) -> int:
        """Return the closing time at which the window becomes final."""
        # + 1, because `end` is inclusive here, unlike in `TimeWindows`.
        return window.end + self.grace_ms + 1

    def contains(self, window: Window, ts: int) -> bool:
        """Return whether a record at `ts` belongs to the window."""
        return window.start <= ts <= window.end

    def is_closed(self, window: Window, now: int) -> bool:
        """Return whether the window's result is final at the closing time `now`."""
        return now > window.end + self.grace_ms


@dataclass(frozen=True, slots=True)
class JoinWindows:
    """The time difference of records that are joined: left.ts - before_ms <= right.ts <= left.ts + after_ms.

    Args:
        before_ms: How much earlier than the left record the right one may be, in ms or as a timedelta.
        after_ms: How much later than the left record the right one may be, in ms or as a timedelta.
        grace_ms: How long after the end of its window an unmatched record still waits, in ms of stream time or as a
            timedelta.
    """

    before_ms: int
    after_ms: int
    grace_ms: int = 0

    def __init__(self, before_ms: Duration, after_ms: Duration, grace_ms: Duration = 0) -> None:
        set_durations(self, before_ms=before_ms, after_ms=after_ms, grace_ms=grace_ms)
        # One of them may be negative, as in Kafka Streams. A join with only later records has a negative `before_ms`.
        if self.before_ms + self.after_ms < 0:
            raise ValueError(
                f"a join window from {self.before_ms} ms before to {self.after_ms} ms after is empty: "
                "their sum must not be negative"
            )
        check_grace(self.grace_ms)

    @property
    def retention_ms(self) -> int:
        """Shortest retention of the stores that hold both sides, in ms."""
        # As in Kafka Streams, both sides have the same retention, the size of the window plus the grace.
        return self.before_ms + self.after_ms + self.grace_ms

    def of_left(self, ts: int) -> Window:
        """Return the times (both inclusive) of right records that are joined with a left record at `ts`."""
        return Window(ts - self.before_ms, ts + self.after_ms)

    def of_right(self, ts: int) -> Window:
        """Return the times (both inclusive) of left records that are joined with a right record at `ts`."""
        return Window(ts - self.after_ms, ts + self.before_ms)

    def is_closed(self, window: Window, now: int) -> bool:
        """Return whether no more records can be matched in the window at the closing time `now`."""
        return window.end + self.grace_ms < now


def within(difference_ms: Duration, grace_ms: Duration = 0) -> JoinWindows:
    """Return the join window for records whose timestamps differ by at most `difference_ms`."""
    difference, grace = ms_of(difference_ms), ms_of(grace_ms)
    if difference < 0:
        raise ValueError(f"a time difference of {difference} ms: specify at least 0 ms")
    return JoinWindows(difference, difference, grace)
