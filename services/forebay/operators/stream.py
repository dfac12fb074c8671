"""Aggregates of a stream by key."""

from __future__ import annotations

from typing import Generic, TypeVar

from forebay.operators.folds import Fold
from forebay.operators.results import Result
from forebay.operators.table import Change, change_of_row
from forebay.stores.timestamped import TimestampedKeyValueStore

V = TypeVar("V")
A = TypeVar("A")


class StreamAggregate(Generic[V, A]):
    """An aggregate per key of all records. Late records count, too.

    Args:
        store: Store of the aggregates, by key.
    """

    def __init__(self, store: TimestampedKeyValueStore[A], fold: Fold[V, A]) -> None:
        self._store = store
        self._initial = store.with_read_back(fold.initial)
        self._add = store.with_read_back(fold.add)

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[A]]:
        """Aggregate one record. Return the aggregate with the largest timestamp of its records (ms).

        A record without a value is ignored.
        """
        change = self.change(key, value, timestamp)
        return [] if change is None else [Result(key, change.new, change.timestamp)]

    def change(self, key: str, value: V | None, timestamp: int) -> Change[A] | None:
        """Aggregate one record. Return the change of the aggregate, or None for a record without a value."""
        if value is None:
            return None
        entry = self._store.get(key)
        if entry is None:
            newest, total = timestamp, self._initial()
        else:
            total = entry.value
            newest = max(timestamp, entry.timestamp)
        aggregate = self._add(key, value, total)
        self._store.put(key, aggregate, newest)
        return change_of_row(key, aggregate, entry, newest)
