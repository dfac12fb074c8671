"""A task's timers, which are identified by name and key and fire in order of due time, name and key."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterator

from forebay.processor.api import Timer
from forebay.stores.internal import TIMERS, timer_of, timer_row
from forebay.stores.table import Change, Table, prefix_end

PREFIX = TIMERS
NEVER = 1 << 62

_MEMORY_BYTES = 370
"""Bytes of memory per timer, as measured."""

_DUE = struct.Struct(">q")


_Ident = tuple[str, str | None]
"""Name and key of a timer. None: it is a timer of the whole task."""
_Entry = tuple[int, str, bool, str]
"""Due time, name, whether the timer has a key, and the key. Timers of the whole task come before those of a key."""

HasTimer = Callable[[str], bool]
"""Returns whether a processor sets timers with a name."""


def timer_names_of(processor: object) -> HasTimer | None:
    """Return the function that recognizes a processor's timers by their names. None: it may set any timer."""
    return getattr(processor, "has_timer", None)


def _entry(due: int, name: str, key: str | None) -> _Entry:
    return due, name, key is not None, key or ""


class Timers:
    """A task's timers in memory. Each timer is also a row of the task's table.

    Setting a timer to a later time needs no heap operation. When its old heap entry is due, it is pushed again with the
    later time.

    Args:
        has_timer: Function that recognizes the processor's timers by their names. Timers of removed statements remain
            in the table until the statements are added again. None: all timers belong to the processor.
    """

    def __init__(self, has_timer: HasTimer | None = None) -> None:
        self._has_timer = has_timer
        self._due: dict[_Ident, int] = {}
        self._queued: dict[_Ident, int] = {}
        self._heap: list[_Entry] = []
        self._dirty: dict[_Ident, None] = {}
        self.first = NEVER
        """No timer is due before this time (ms)."""

    def __len__(self) -> int:
        return len(self._due)

    @property
    def footprint_bytes(self) -> int:
        """Bytes of memory that the timers use."""
        return _MEMORY_BYTES * len(self._due)

    def load(self, table: Table) -> None:
        """Replace the timers in memory by those of `table`."""
        self.__init__(self._has_timer)  # type: ignore[misc]
        for row_key, value in table.scan(PREFIX, prefix_end(PREFIX)):
            name, key = timer_of(row_key)
            if self._has_timer is None or self._has_timer(name):
                self.schedule(name, key, _DUE.unpack(value)[0])
        assert self._due.keys() == self._queued.keys(), "a timer of the table is not queued, and would never fire"
        self._dirty.clear()

    def schedule(self, name: str, key: str | None, due: int) -> None:
        """Set the timer of (name, key)."""
        ident = (name, key)
        self._due[ident] = due
        self._dirty[ident] = None
        queued = self._queued.get(ident)
        # A later time needs no entry. The present entry is due first, and is queued again then.
        if queued is None or due < queued:
            self._queued[ident] = due
            heapq.heappush(self._heap, _entry(due, name, key))
            if due < self.first:
                self.first = due

    def cancel(self, name: str, key: str | None) -> None:
        """Cancel the timer of (name, key) if it is set."""
        # Its entry remains in the heap, and is skipped when it is due.
        if self._due.pop((name, key), None) is not None:
            self._dirty[name, key] = None

    def pop_due(self, until: int) -> Timer | None:
        """Remove and return the next timer with due <= until, or return None."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            queued, name, has_key, text = heapq.heappop(heap)
            key = text if has_key else None
            ident = (name, key)
            # The timer was set to an earlier time, with which it is also queued. Only that entry is valid.
            if self._queued.get(ident) != queued:
                continue
            del self._queued[ident]
            due = self._due.get(ident)
            if due is None:
                continue
            if due > queued:
                self._queued[ident] = due
                heapq.heappush(heap, _entry(due, name, key))
                continue
            del self._due[ident]
            self._dirty[ident] = None
            self.first = heap[0][0] if heap else NEVER
            return Timer(due, name, key)
        self.first = heap[0][0] if heap else NEVER
        return None

    def changes(self) -> Iterator[Change]:
        """Yield the changes of the commit as table rows."""
        assert not self._heap or self.first <= self._heap[0][0], "a timer is due before the time of the first one"
        for name, key in self._dirty:
            due = self._due.get((name, key))
            yield timer_row(name, key), None if due is None else _DUE.pack(due)

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now."""
        self._dirty.clear()
