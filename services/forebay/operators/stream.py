"""Aggregates of a stream by key, without windows."""

from __future__ import annotations

from typing import Generic, TypeVar

from forebay.operators.folds import Fold
from forebay.operators.results import Result
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
        self._fold = fold

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[A]]:
        """Fold one record in; give the aggregate with the largest timestamp in it (ms). A null value is ignored."""
        if value is None:
            return []
        found = self._store.get(key)
        newest = timestamp if found is None else max(timestamp, found.timestamp)
        aggregate = self._fold.add(key, value, self._fold.initial() if found is None else found.value)
        self._store.put(key, aggregate, newest)
        return [Result(key, aggregate, newest)]
