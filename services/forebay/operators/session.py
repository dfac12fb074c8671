"""Aggregates over sessions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.stores.session import SessionStore
from forebay.time.sessions import SessionWindows, merge
from forebay.time.windows import Window

V = TypeVar("V")
A = TypeVar("A")

_CLOSED = b"closed-before"
_NEVER = -(1 << 62)


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
        add: gives the aggregate with one more record; called with key, value, aggregate.
        merger: gives the aggregate of two sessions; called with key, and both in order of time.
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
                f"give at least {sessions.retention_ms} ms (gap {sessions.gap_ms} + grace {sessions.grace_ms})"
            )
        self.store = store
        self.sessions = sessions
        self._initial = initial
        self._add = add
        self._merger = merger
        self._emission = emission
        self._closed = closed

    def process(self, key: str, value: V, timestamp: int, now: int) -> Outcome[A]:
        """Fold one record in; give tombstones of absorbed sessions, the merged session, and finals."""
        now = max(now, timestamp)
        finals = tuple(self.close(now))
        own = merged = Window(timestamp, timestamp)
        reach, open_from = self.sessions.reach(timestamp), self.sessions.open_from(now)
        earliest = reach.start if self._closed is Closed.MERGE else max(reach.start, open_from)
        found = list(self.store.find_sessions(key, earliest, reach.end, open_from))
        for entry in found:
            merged = merge(merged, Window(entry.start, entry.end))
        if self.sessions.is_closed(merged, now):
            return Outcome((), finals, 1, open_from - merged.end)
        updates: list[WindowResult[A]] = []
        aggregate = found[0].value if found else self._initial()
        for entry in found[1:]:
            aggregate = self._merger(key, aggregate, entry.value)
        if merged != own:
            for entry in found:
                self.store.remove(key, entry.start, entry.end)
                updates.append(WindowResult(key, Window(entry.start, entry.end), None, entry.end))
        aggregate = self._add(key, value, aggregate)
        self.store.put(key, merged.start, merged.end, aggregate, open_from)
        updates.append(WindowResult(key, merged, aggregate, merged.end))
        return Outcome(() if self._emission is Emission.FINAL else tuple(updates), finals)

    def close(self, now: int) -> list[WindowResult[A]]:
        """Give the sessions that became final by closing time `now`, each once: by end, start, key."""
        open_from, closed = self.sessions.open_from(now), self.store.marks.get(_CLOSED, _NEVER)
        if self._emission is Emission.UPDATES or open_from <= closed:
            return []
        self.store.marks.set(_CLOSED, open_from)
        return [
            WindowResult(entry.key, Window(entry.start, entry.end), entry.value, entry.end)
            for entry in self.store.find_sessions_by_end(closed, open_from - 1, closed)
        ]
