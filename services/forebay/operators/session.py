"""Aggregates over sessions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.keys import FOREVER
from forebay.stores.session import SessionStore
from forebay.stores.values import Stamped
from forebay.time.base import Window
from forebay.time.sessions import SessionWindows

V = TypeVar("V")
A = TypeVar("A")

OPEN_FROM = b"open-from"
"""Mark of a session store. The final results of sessions that end before this time were emitted."""


class Closed(Enum):
    """What happens if a record is within the gap of a closed session that the store still contains.

    MERGE: the closed session is merged into the record's session, as in Kafka Streams. The closed session's final
    result is then followed by a tombstone and by the final result of the merged session. KEEP: closed sessions never
    change.
    """

    MERGE = "merge"
    KEEP = "keep"


class SessionAggregate(Generic[V, A]):
    """An aggregate per key and session, which merges the sessions that a record connects.

    Times are in ms. `now` is the task's closing time, including this record (`ctx.closing_time`).

    Args:
        store: Store of one aggregate per key and session. Its retention must be at least gap plus grace.
        initial: Function that returns the aggregate of no records.
        add: Function of key, value and aggregate that returns the aggregate with the record. If it returns None, the
            row is deleted.
        merger: Function of key and two aggregates, in order of time, that returns the aggregate of both. It is first
            called with the initial aggregate and the aggregate of the earliest session.
    """

    def __init__(
        self,
        store: SessionStore[A],
        sessions: SessionWindows,
        initial: Callable[[], A],
        add: Callable[[str, V, A], A],
        merger: Callable[[str, A, A], A],
        *,
        emission: Emission = Emission.UPDATES,
        closed: Closed = Closed.MERGE,
    ) -> None:
        if store.retention_ms < sessions.retention_ms:
            raise ValueError(
                f"store {store.name}: retention_ms {store.retention_ms} is shorter than gap and grace; "
                f"specify at least {sessions.retention_ms} ms (gap {sessions.gap_ms} + grace {sessions.grace_ms})"
            )
        self.store = store
        self.sessions = sessions
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._merger = store.with_read_back(merger)
        self._emission = emission
        self._closed = closed

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Aggregate one record. Return tombstones of merged sessions, the resulting session, and final results."""
        if timestamp > now:
            now = timestamp
        # Close sessions first. With Closed.MERGE, the record may be merged with a closed session, whose final result
        # must be emitted before.
        finals = tuple(self.close(now))
        reach, open_from = self.sessions.reach(timestamp), self.sessions.open_from(now)
        # With Closed.KEEP, a session that ends before `open_from` was emitted as final and must not be extended.
        earliest = reach.start if self._closed is Closed.MERGE else max(reach.start, open_from)
        # Find open sessions regardless of the retention. With the default retention of gap plus grace, the store would
        # otherwise hide a session just before it closes, and the record would open a second one.
        entries = list(self.store.find_sessions(key, earliest, reach.end, open_from))
        start = end = timestamp
        for entry in entries:
            start, end = min(start, entry.start), max(end, entry.end)
        # The merged session decides and not the record, so an old record that belongs to an open session is accepted.
        if end < open_from:
            return Outcome((), finals, 1, open_from - end)
        merged = Window(start, end)
        aggregate = self._initial()
        for entry in entries:
            aggregate = self._merger(key, aggregate, entry.value)
        updates: list[WindowResult[A]] = []
        before: list[Stamped[A] | None] = [Stamped(entry.value, entry.end) for entry in entries]
        # As in Kafka Streams, which compares the merged session with a session of only this record.
        if start != end:
            updates += [WindowResult(key, Window(entry.start, entry.end), None, entry.end) for entry in entries]
            before.append(None)
        elif not entries:
            before.append(None)
        result = self._add(key, value, aggregate)
        self.store.merge(key, entries, start, end, result, open_from)
        if self._emission is Emission.UPDATES:
            updates.append(WindowResult(key, merged, result, end))
            return Outcome(tuple(updates), before=tuple(before))
        # Sessions that end before the mark count as emitted. If a session opens before the mark, decrease the mark, or
        # the session's final result would never be emitted.
        if end < self.store.marks.get(OPEN_FROM, FOREVER):
            self.store.marks.set(OPEN_FROM, end)
        if self._emission is Emission.FINAL:
            return Outcome((), finals, closes_at=self.sessions.closes_at(merged))
        updates.append(WindowResult(key, merged, result, end))
        closes_at = self.sessions.closes_at(merged)
        return Outcome(tuple(updates), finals, closes_at=closes_at, before=tuple(before))

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the sessions that became final by the closing time `now`, sorted by end, start and key.

        Each session is returned once. Those that end before the store's mark were already returned.
        """
        # The mark is a row. If a record fails, it is rolled back with the record, and the final results are emitted
        # again.
        given, open_from = self.store.marks.get(OPEN_FROM, FOREVER), self.sessions.open_from(now)
        if self._emission is Emission.UPDATES or open_from <= given:
            return []
        finals = [
            WindowResult(entry.key, Window(entry.start, entry.end), entry.value, entry.end)
            for entry in self.store.find_sessions_by_end(given, open_from - 1, given)
        ]
        first_open = self.store.first_end(open_from)
        self.store.marks.set(OPEN_FROM, FOREVER if first_open is None else first_open)
        return finals

    def next_close(self) -> int | None:
        """Return the closing time (ms) at which `close` may return a session next, or None if no session is open.

        Immediately after `close`, this is the time at which the earliest open session closes, unless it is extended.
        """
        first_open = self.store.marks.get(OPEN_FROM, FOREVER)
        return None if first_open == FOREVER else self.sessions.closes_at(Window(first_open, first_open))
