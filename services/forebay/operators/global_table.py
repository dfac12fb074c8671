"""Joins with global tables, whose rows are all in every task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Join, Result
from forebay.stores.keyvalue import KeyValueStore

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741


class GlobalTable(Generic[R]):
    """A table whose rows are all in every task, so that records with any key can be joined with it.

    Each task reads all partitions of the table's topic and stores its own copy. Therefore it is suitable for small
    tables that rarely change. The last update wins, regardless of its timestamp.

    Args:
        store: Store of the rows.
    """

    def __init__(self, store: KeyValueStore[R]) -> None:
        self._store = store

    @property
    def name(self) -> str:
        """Name of the store."""
        return self._store.name

    def update(self, key: str, value: R | None) -> None:
        """Apply an update. A value of None deletes the row."""
        self._store.put(key, value)

    def get(self, key: str) -> R | None:
        """Return the row of a key, or None."""
        return self._store.get(key)


class GlobalTableJoin(Generic[L, R, O]):
    """A join of each record with a row of a global table. Updates of the table emit nothing.

    Args:
        kind: INNER or LEFT.
        key_of: Function of a record's key and value that returns a key of the table, or None for no match.
        joiner: Function of the record's value and the row, which is None in a left join without a match.
    """

    def __init__(
        self,
        table: GlobalTable[R],
        kind: Join,
        key_of: Callable[[str, L], str | None],
        joiner: Callable[[L, R | None], O],
    ) -> None:
        if kind is Join.OUTER:
            raise ValueError(
                f"store {table.name}: a stream can't be joined outer with a global table; use inner or left"
            )
        self._table = table
        self._kind = kind
        self._key_of = key_of
        self._joiner = joiner

    def process(self, key: str, value: L | None, timestamp: int) -> list[Result[O]]:
        """Join one record (timestamp in ms). A record without a value is ignored."""
        if value is None:
            return []
        # No repartition is needed, because each task has the whole table.
        wanted = self._key_of(key, value)
        row = None if wanted is None else self._table.get(wanted)
        if row is None and self._kind is Join.INNER:
            return []
        return [Result(key, self._joiner(value, row), timestamp)]
