"""Recognizes records that come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Result
from forebay.stores.ttl import TtlKeyValueStore

V = TypeVar("V")


class Deduplicate(Generic[V]):
    """Lets the first record of each id through; another one within the store's time to live is dropped.

    The time to live is that of the first record, in the task's closing time: repeating it does not prolong it, and a
    record exactly that much later goes through. (A job recognizes repeated `event_id`s of its inputs by itself.)

    Args:
        store: holds the first record of each id.
        id_of: gives a record's id from key and value, or None if it is never a repetition.
    """

    def __init__(self, store: TtlKeyValueStore[V], id_of: Callable[[str, V], str | None]) -> None:
        self._store = store
        self._id_of = id_of

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record (timestamp in ms), or nothing if it is a repetition. A tombstone goes through."""
        ident = None if value is None else self._id_of(key, value)
        if value is None or ident is None:
            return [Result(key, value, timestamp)]
        # Not put again: that would prolong the time to live, and a record that is repeated often would never come
        # through.
        if self._store.put_if_absent(ident, value) is not None:
            return []
        return [Result(key, value, timestamp)]
