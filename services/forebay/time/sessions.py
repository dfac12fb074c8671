"""Session windows: which sessions merge, accept records or are closed (semantics.md, "Windows and sessions")."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.time.base import Window, check_grace
from forebay.time.durations import Duration, set_durations


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Sessions of records at most `gap_ms` apart. A session spans its first to its last record, both inclusive.

    Args:
        gap_ms: Inactivity gap, in ms or as a timedelta. Records at exactly this distance belong to the same session.
        grace_ms: How long after its gap a session accepts records, in ms of stream time or as a timedelta.
    """

    gap_ms: int
    grace_ms: int = 0

    def __init__(self, gap_ms: Duration, grace_ms: Duration = 0) -> None:
        set_durations(self, gap_ms=gap_ms, grace_ms=grace_ms)
        if self.gap_ms < 1:
            raise ValueError(f"sessions with a gap of {self.gap_ms} ms: specify at least 1 ms")
        check_grace(self.grace_ms)

    @property
    def retention_ms(self) -> int:
        """Shortest retention of a store that holds these sessions, in ms."""
        return self.gap_ms + self.grace_ms

    def reach(self, ts: int) -> Window:
        """Return the earliest end and the latest start (inclusive) of sessions to which a record at `ts` belongs."""
        return Window(ts - self.gap_ms, ts + self.gap_ms)

    def merges(self, session: Window, ts: int) -> bool:
        """Return whether a record at `ts` belongs to the session."""
        # Both bounds are inclusive, so a record at a distance equal to the gap belongs to the session.
        return session.end >= ts - self.gap_ms and session.start <= ts + self.gap_ms

    def open_from(self, now: int) -> int:
        """Return the earliest end of a session that is still open at the closing time `now`."""
        return now - self.grace_ms - self.gap_ms

    def closed_until(self, now: int) -> int:
        """Return the latest end of a session that is closed at the closing time `now`."""
        return self.open_from(now) - 1

    def is_closed(self, session: Window, now: int) -> bool:
        """Return whether the session is final at the closing time `now`. A record that results in it is late."""
        return session.end < self.open_from(now)

    def closes_at(self, session: Window) -> int:
        """Return the closing time at which the session becomes final."""
        # + 1, because a record at exactly the gap still belongs to the session. Kafka Streams' suppress closes one ms
        # earlier and may emit a second final result.
        return session.end + self.gap_ms + self.grace_ms + 1


def merge(a: Window, b: Window) -> Window:
    """Return the smallest session that contains both."""
    return Window(min(a.start, b.start), max(a.end, b.end))
