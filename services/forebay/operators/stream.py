"""Aggregates of a stream by key, without windows."""

from __future__ import annotations

from typing import Generic, TypeVar

from forebay.operators.folds import Fold
from forebay.operators.results import Result
from forebay.operators.table import Change
from forebay.stores.timestamped import TimestampedKeyValueStore

V = TypeVar("V")
A = TypeVar("A")


class StreamAggregate(Generic[V, A]):
    """Keeps one aggregate per key, of every record that ever came; late records count like any other.

    Args:
        store: holds the aggregates by key.
    """

    def __init__(self, store: TimestampedKeyValueStore[A], fold: Fold[V, A]) -> None:
        self._store = store
        self._initial = store.with_read_back(fold.initial)
        self._add = store.with_read_back(fold.add)

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[A]]:
        """Fold one record in; give the aggregate with the largest timestamp in it (ms). A null value is ignored."""
        change = self.change(key, value, timestamp)
        return [] if change is None else [Result(key, change.new, change.timestamp)]

    def change(self, key: str, value: V | None, timestamp: int) -> Change[A] | None:
        """Fold one record in; give the change of the table of aggregates. A null value is ignored."""
        if value is None:
            return None
        entry = self._store.get(key)
        if entry is None:
            old, newest, total = None, timestamp, self._initial()
        else:
            old = total = entry.value
            newest = max(timestamp, entry.timestamp)
        aggregate = self._add(key, value, total)
        self._store.put(key, aggregate, newest)
        return Change(key, aggregate, old, newest)
