"""Stateless operators, which return the records to forward for each record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from forebay.operators.results import Result

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class Filter(Generic[V]):
    """A filter that forwards the records for which `keeps`, a function of key and value, returns true.

    Tombstones are forwarded, because the row that they delete may have been forwarded before.
    """

    def __init__(self, keeps: Callable[[str, V], bool]) -> None:
        self._keeps = keeps

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record (timestamp in ms), or an empty list if it is dropped."""
        return [Result(key, value, timestamp)] if value is None or self._keeps(key, value) else []


class Map(Generic[V, O]):
    """A mapping of values with `mapper`, a function of key and value. Tombstones are forwarded."""

    def __init__(self, mapper: Callable[[str, V], O]) -> None:
        self._mapper = mapper

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[O]]:
        """Return the record with its new value (timestamp in ms)."""
        return [Result(key, None if value is None else self._mapper(key, value), timestamp)]


class FlatMap(Generic[V, O]):
    """A mapping to any number of values with `mapper`, a function of key and value. Tombstones are forwarded."""

    def __init__(self, mapper: Callable[[str, V], Iterable[O]]) -> None:
        self._mapper = mapper

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[O]]:
        """Return the records (timestamp in ms), in the mapper's order."""
        if value is None:
            return [Result(key, None, timestamp)]
        return [Result(key, item, timestamp) for item in self._mapper(key, value)]


class Rekey(Generic[V]):
    """A change of keys with `key_of`, a function of key and value. Tombstones have no value and are dropped.

    Records with the same new key may be in several tasks. Repartition them before an operator that stores state by key.
    """

    def __init__(self, key_of: Callable[[str, V], str]) -> None:
        self._key_of = key_of

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record with its new key (timestamp in ms)."""
        return [] if value is None else [Result(self._key_of(key, value), value, timestamp)]
