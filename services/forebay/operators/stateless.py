"""Operators without state: each takes one record and returns the records to forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from forebay.operators.results import Result

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class Filter(Generic[V]):
    """Lets records through that `keeps` (called with key and value) says yes to.

    A tombstone goes through: what it takes back may have gone through before.
    """

    def __init__(self, keeps: Callable[[str, V], bool]) -> None:
        self._keeps = keeps

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record (timestamp in ms), or nothing."""
        return [Result(key, value, timestamp)] if value is None or self._keeps(key, value) else []


class Map(Generic[V, O]):
    """Gives each record the value that `mapper` makes of key and value; a tombstone stays one."""

    def __init__(self, mapper: Callable[[str, V], O]) -> None:
        self._mapper = mapper

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[O]]:
        """Return the changed record (timestamp in ms)."""
        return [Result(key, None if value is None else self._mapper(key, value), timestamp)]


class FlatMap(Generic[V, O]):
    """Gives a record for each value that `mapper` makes of key and value; a tombstone goes through."""

    def __init__(self, mapper: Callable[[str, V], Iterable[O]]) -> None:
        self._mapper = mapper

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[O]]:
        """Return the records (timestamp in ms), in the mapper's order."""
        if value is None:
            return [Result(key, None, timestamp)]
        return [Result(key, item, timestamp) for item in self._mapper(key, value)]


class Rekey(Generic[V]):
    """Gives each record the key that `key_of` makes of key and value; a tombstone has no value and is dropped.

    Records of one new key may be in several tasks: what keeps state by the new key belongs behind a repartition.
    """

    def __init__(self, key_of: Callable[[str, V], str]) -> None:
        self._key_of = key_of

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record under its new key (timestamp in ms)."""
        return [] if value is None else [Result(self._key_of(key, value), value, timestamp)]
