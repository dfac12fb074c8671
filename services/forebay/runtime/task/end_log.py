"""Estimates when the records of a partition were appended.

Records of topics with LogAppendTime contain this time. Other records contain the producer's time, which may be an event
time of any age. For these, the reader uses the ends of the partition that it has seen: a record at or behind an end was
appended after the reader saw that end.
"""

from __future__ import annotations

from bisect import bisect_right

from forebay.processor.messages import Message

_LOG_APPEND_TIME = 2
_MOST = 1_000


class EndLog:
    """Ends of a partition, each with the last time at which its reader saw it (monotonic clock, s)."""

    __slots__ = ("_ends", "_pause", "_times")

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._times: list[float] = []
        self._pause = 0.0
        """Shortest time (s) between two entries. It grows while the reader is behind, so that the log stays small."""

    def observe(self, end: int, now: float, *, is_read: bool) -> None:
        """Record the partition's current end.

        Args:
            is_read: whether the reader has read up to the end. Then the broker would have sent a later record at once.
                If not, the client may not be fetching, and an unchanged end proves nothing.
        """
        ends, times = self._ends, self._times
        if is_read:
            self._pause = 0.0
        # The end has not moved, so the next record will be appended after this moment.
        if ends and end <= ends[-1]:
            if is_read:
                times[-1] = now
        elif not ends or now - times[-1] >= self._pause:
            ends.append(end)
            times.append(now)
            if len(ends) > _MOST:
                # With fewer entries, records seem to be older than they are, never younger.
                self._pause = 4 * (now - times[0]) / _MOST
                del ends[1:-1:2], times[1:-1:2]

    def wait(self, now: float) -> None:
        """Record that the reader waited until now and no record arrived."""
        if self._times:
            self._times[-1] = now

    def appended_after(self, offset: int) -> float | None:
        """Return a time after which a record was appended; None if it may be older than the reader."""
        index = bisect_right(self._ends, offset) - 1
        return self._times[index] if index >= 0 else None


def append_time(message: Message, log: EndLog, now: float, clock_ms: int) -> float | None:
    """Return the time, in seconds of the monotonic clock, at or after which a record was appended; None if unknown.

    Args:
        now: current time of the monotonic clock.
        clock_ms: current time of the wall clock.
    """
    kind, timestamp = message.timestamp()
    if kind == _LOG_APPEND_TIME:
        return now - max(0, clock_ms - timestamp) / 1_000
    return log.appended_after(message.offset())
