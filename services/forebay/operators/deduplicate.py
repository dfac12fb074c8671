"""Removal of duplicate records by id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Result
from forebay.stores.ttl import TtlKeyValueStore

V = TypeVar("V")


class Deduplicate(Generic[V]):
    """A filter that drops a record if one with the same id arrived within the store's time to live before it.

    The time to live begins with the first record, in the task's closing time. Duplicates do not extend it. A record
    that arrives exactly when it ends is forwarded. (A job itself drops duplicates of its inputs by `event_id`.)

    Args:
        store: Store of the first record of each id.
        id_of: Function of key and value that returns a record's id, or None if the record is never a duplicate.
    """

    def __init__(self, store: TtlKeyValueStore[V], id_of: Callable[[str, V], str | None]) -> None:
        self._store = store
        self._id_of = id_of

    def process(self, key: str, value: V | None, timestamp: int) -> list[Result[V]]:
        """Return the record (timestamp in ms), or an empty list if it is a duplicate. Tombstones are forwarded."""
        ident = None if value is None else self._id_of(key, value)
        if value is None or ident is None:
            return [Result(key, value, timestamp)]
        # The stored record is not replaced. That would extend the time to live, and a record that is repeated often
        # would never be forwarded again.
        if self._store.put_if_absent(ident, value) is not None:
            return []
        return [Result(key, value, timestamp)]
