"""Deleting what has expired: bounded work per put, and none at most steps of time."""

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
    """Walks an index ordered by time behind a bound that only grows.

    Where it stands is kept in the store's rows, so that it is undone and replayed like every other change: the next
    row to look at (a time alone is not enough: a walk through the rows of one time would begin again and again with
    those it has deleted).

    Args:
        index: rows that begin with a packed time; its empty row holds where the walk stands.
        step_ms: how far the bound moves before the next walk.
        remove: deletes the row that an index row refers to, and the index row.
    """

    def __init__(self, index: Rows[bytes], marks: Marks, step_ms: int, remove: Callable[[bytes], None]) -> None:
        self._index = index
        self._marks = marks
        self._step_ms = step_ms
        self._remove = remove

    def run(self, until: int) -> None:
        """Delete rows with time <= until, a limited number; no row may be added at or before it any more."""
        # Most puts come at the same time or a little later, and must not pay for a scan.
        if until < self._marks.get(_DUE, _BEGINNING):
            return
        following, due = after(pack_time(until)), until + self._step_ms
        start = self._index.get(_NEXT) or pack_time(_BEGINNING)
        for count, (row, _) in enumerate(self._index.scan(start, following)):
            if count == PURGED_AT_ONCE:
                # Due at once: the next put continues here, so that a jump of time is spread over many puts.
                following, due = row, until
                break
            self._remove(row)
        self._index.put(_NEXT, following)
        self._marks.set(_DUE, due)

    def restart(self) -> None:
        """Walk at the next run, from the current bound: a bound that moved back admits older rows again."""
        self._marks.set(_DUE, _BEGINNING)


def step_of(retention_ms: int) -> int:
    """Return how far time moves between two walks of a store with this retention."""
    return max(1, retention_ms // PURGES_PER_RETENTION)
