"""Aggregates of tables: what leaves a group is subtracted, what enters it is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Result
from forebay.operators.table import Change
from forebay.stores.timestamped import TimestampedKeyValueStore

V = TypeVar("V")
G = TypeVar("G")
A = TypeVar("A")

Group = Callable[[str, V], tuple[str, G] | None]
"""Gives the group of a row and what it counts there, or None if it belongs to no group."""


class TableAggregate(Generic[V, G, A]):
    """Keeps one aggregate per group of a table's rows.

    Args:
        store: holds the aggregates by group.
        initial: the aggregate of no rows.
        add, subtract: give the aggregate with one row more or less; called with group, value, aggregate.
    """

    def __init__(
        self,
        store: TimestampedKeyValueStore[A],
        group: Group[V, G],
        initial: Callable[[], A],
        add: Callable[[str, G, A], A],
        subtract: Callable[[str, G, A], A],
    ) -> None:
        self._store = store
        self._group = group
        self._initial = store.with_read_back(initial)
        self._add = store.with_read_back(add)
        self._subtract = store.with_read_back(subtract)

    def process(self, change: Change[V] | None) -> list[Result[A]]:
        """Apply a table's change; return one result per group it touches, first for the group that lost a row."""
        return [Result(change.key, change.new, change.timestamp) for change in self.changes(change)]

    def changes(self, change: Change[V] | None) -> list[Change[A]]:
        """Apply a table's change; give the changes of the table of aggregates, of the group that lost a row first."""
        if change is None:
            return []
        old = None if change.old is None else self._group(change.key, change.old)
        new = None if change.new is None else self._group(change.key, change.new)
        if old is not None and new is not None and old[0] == new[0]:
            # One result for both: readers must not see the aggregate without a row that stays in its group.
            return [self._apply(old[0], old, new, change.timestamp)]
        results = [] if old is None else [self._apply(old[0], old, None, change.timestamp)]
        return results if new is None else [*results, self._apply(new[0], None, new, change.timestamp)]

    def _apply(self, group: str, old: tuple[str, G] | None, new: tuple[str, G] | None, timestamp: int) -> Change[A]:
        entry = self._store.get(group)
        aggregate = None if entry is None else entry.value
        # A fold may have deleted the aggregate (None). Then there is nothing to subtract from.
        if old is not None and aggregate is not None:
            aggregate = self._subtract(group, old[1], aggregate)
        if new is not None:
            aggregate = self._add(group, new[1], self._initial() if aggregate is None else aggregate)
        # A late row counts, but does not move the time of the result back.
        newest = timestamp if entry is None else max(timestamp, entry.timestamp)
        self._store.put(group, aggregate, newest)
        return Change(group, aggregate, None if entry is None else entry.value, newest)
