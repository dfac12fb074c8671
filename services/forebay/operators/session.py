"""Aggregates over sessions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.keys import FOREVER
from forebay.stores.session import SessionStore
from forebay.time.base import Window
from forebay.time.sessions import SessionWindows

V = TypeVar("V")
A = TypeVar("A")

OPEN_FROM = b"open-from"
"""Mark of a session store: sessions that end before it have given their final result."""


class Closed(Enum):
    """What a record does that reaches a closed session which its store still shows.

    MERGE: it takes the session up into its own, as in Kafka Streams; the closed session's final is then followed
    by a tombstone and by the final of the merged one. KEEP: closed sessions are final for good.
    """

    MERGE = "merge"
    KEEP = "keep"


class SessionAggregate(Generic[V, A]):
    """Folds records into sessions, merging those that a record joins; no final is lost.

    Times are in ms. `now` is the task's closing time with this record in it (`ctx.closing_time`).

    Args:
        store: holds one aggregate per key and session; its retention must cover gap plus grace.
        initial: the aggregate of no records.
        add: gives the aggregate with one more record; called with key, value, aggregate. None deletes the row.
        merger: gives the aggregate of two sessions; called with key, and both in order of time: first with the initial
            one and that of the earliest session.
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
        """Fold one record in; give tombstones of absorbed sessions, the merged session, and finals."""
        if timestamp > now:
            now = timestamp
        # First: with Closed.MERGE the record may absorb a closed session, whose final result has to be sent before.
        finals = tuple(self.close(now))
        reach, open_from = self.sessions.reach(timestamp), self.sessions.open_from(now)
        # With Closed.KEEP, a session that ends before `open_from` was sent as final. It must not be found and extended.
        earliest = reach.start if self._closed is Closed.MERGE else max(reach.start, open_from)
        # Open sessions are found regardless of the retention. With the default retention of gap and grace, the store
        # would hide a session at the last moment before it closes, and the record would open a second one.
        entries = list(self.store.find_sessions(key, earliest, reach.end, open_from))
        start = end = timestamp
        for entry in entries:
            start, end = min(start, entry.start), max(end, entry.end)
        # The merged session decides, not the record: an old record that joins an open session is accepted.
        if end < open_from:
            return Outcome((), finals, 1, open_from - end)
        merged = Window(start, end)
        aggregate = self._initial()
        for entry in entries:
            aggregate = self._merger(key, aggregate, entry.value)
        updates: list[WindowResult[A]] = []
        before: list[A | None] = [entry.value for entry in entries]
        # As in Kafka Streams, which compares the merged session with a session of this record alone.
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
        # Sessions that end before the mark count as given. A session that opens before it must move it back, or it
        # would never get its final result.
        if end < self.store.marks.get(OPEN_FROM, FOREVER):
            self.store.marks.set(OPEN_FROM, end)
        if self._emission is Emission.FINAL:
            return Outcome((), finals, closes_at=self.sessions.closes_at(merged))
        updates.append(WindowResult(key, merged, result, end))
        closes_at = self.sessions.closes_at(merged)
        return Outcome(tuple(updates), finals, closes_at=closes_at, before=tuple(before))

    def close(self, now: int) -> list[WindowResult[A]]:
        """Return the sessions that became final by closing time `now`, each once: by end, start, key.

        Sessions that end before the store's mark were given; the rest end at it or later.
        """
        # The mark is a row, so it moves back with a record that fails, and its finals are sent again.
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
        """Return the closing time (ms) at which `close` may next give a session, or None if none is open.

        Right after `close` it is exactly when the earliest open session closes, unless that session grows.
        """
        first_open = self.store.marks.get(OPEN_FROM, FOREVER)
        return None if first_open == FOREVER else self.sessions.closes_at(Window(first_open, first_open))
