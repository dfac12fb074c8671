"""Aggregates of the rows of a table by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Result
from forebay.operators.table import Change, change_of_row
from forebay.stores.timestamped import TimestampedKeyValueStore

V = TypeVar("V")
G = TypeVar("G")
A = TypeVar("A")

Group = Callable[[str, V], tuple[str, G] | None]
"""Returns the group of a row and the value that is aggregated there, or None if the row is in no group."""


class TableAggregate(Generic[V, G, A]):
    """An aggregate per group of a table's rows. Rows that enter a group are added, rows that leave it are subtracted.

    Args:
        store: Store of the aggregates, by group.
        group: Function of a row's key and value that returns its group and the value to aggregate.
        initial: Function that returns the aggregate of no rows.
        add, subtract: Functions of group, value and aggregate that return the aggregate with or without the row.
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
        """Apply a table's change. Return one result per changed group, that of the group that lost a row first."""
        return [Result(change.key, change.new, change.timestamp) for change in self.changes(change)]

    def changes(self, change: Change[V] | None) -> list[Change[A]]:
        """Apply a table's change. Return the changes of the aggregates, that of the group that lost a row first."""
        if change is None:
            return []
        old = None if change.old is None else self._group(change.key, change.old)
        new = None if change.new is None else self._group(change.key, change.new)
        if old is not None and new is not None and old[0] == new[0]:
            # Emit one result for both values. Readers must not see the aggregate without a row that stays in its group.
            return [self._apply(old[0], old, new, change.timestamp)]
        results = [] if old is None else [self._apply(old[0], old, None, change.timestamp)]
        return results if new is None else [*results, self._apply(new[0], None, new, change.timestamp)]

    def _apply(self, group: str, old: tuple[str, G] | None, new: tuple[str, G] | None, timestamp: int) -> Change[A]:
        entry = self._store.get(group)
        aggregate = None if entry is None else entry.value
        # If the fold deleted the aggregate (None), there is nothing to subtract from.
        if old is not None and aggregate is not None:
            aggregate = self._subtract(group, old[1], aggregate)
        if new is not None:
            aggregate = self._add(group, new[1], self._initial() if aggregate is None else aggregate)
        # A late row counts, but does not decrease the timestamp of the result.
        newest = timestamp if entry is None else max(timestamp, entry.timestamp)
        self._store.put(group, aggregate, newest)
        return change_of_row(group, aggregate, entry, newest)
