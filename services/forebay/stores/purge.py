"""Deletion of expired rows, with a limited amount of work per put."""

from __future__ import annotations

from collections.abc import Callable

from forebay.stores.binding import Marks
from forebay.stores.keys import after, pack_time
from forebay.stores.rows import Rows

PURGED_AT_ONCE = 1_000
PURGES_PER_RETENTION = 64

_DUE = b"purge-due"
_NEXT = b""
_BEGINNING = -(1 << 62)


class Purge:
    """The purge of a store, which walks an index ordered by time up to a bound that only increases.

    Its position is a row of the index, so that it is rolled back and replayed like other changes. The position is the
    next index row and not only a time. Otherwise a walk through many rows with the same time would begin with those
    that it has already deleted.

    Args:
        index: Rows that begin with a packed time. The row with an empty key contains the position.
        marks: Marks of the store.
        step_ms: How far the bound must increase before the next walk.
        remove: Function that deletes an index row and the row to which it refers.
    """

    def __init__(self, index: Rows[bytes], marks: Marks, step_ms: int, remove: Callable[[bytes], None]) -> None:
        self._index = index
        self._marks = marks
        self._step_ms = step_ms
        self._remove = remove

    def run(self, until: int) -> None:
        """Delete a limited number of rows with time <= until. No rows may be added at or before this time any more."""
        # Most puts have the same time as the previous one or a slightly later time, and must not pay for a scan.
        if until < self._marks.get(_DUE, _BEGINNING):
            return
        following, due = after(pack_time(until)), until + self._step_ms
        start = self._index.get(_NEXT) or pack_time(_BEGINNING)
        for count, (row, _) in enumerate(self._index.scan(start, following)):
            if count == PURGED_AT_ONCE:
                # The next walk is due immediately. The next put continues here, so that the cost is spread over puts
                # even when time jumps.
                following, due = row, until
                break
            self._remove(row)
        self._index.put(_NEXT, following)
        self._marks.set(_DUE, due)

    def restart(self) -> None:
        """Make a walk due at the next run, because a longer retention has decreased the bound."""
        self._marks.set(_DUE, _BEGINNING)


def step_of(retention_ms: int) -> int:
    """Return how far the bound increases between two walks of a store with this retention, in ms."""
    return max(1, retention_ms // PURGES_PER_RETENTION)
