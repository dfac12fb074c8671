"""Enrichment from a table that every task has whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.operators.results import Join, Result
from forebay.stores.keyvalue import KeyValueStore

L = TypeVar("L")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741


class GlobalTable(Generic[R]):
    """A table whose every row every task has, so that records of any key can look it up.

    Each task is fed every partition of the table's topic and keeps its own copy in its store: for tables that are
    small and change seldom. The last update wins, regardless of its timestamp.

    Args:
        store: holds the rows.
    """

    def __init__(self, store: KeyValueStore[R]) -> None:
        self._store = store

    @property
    def name(self) -> str:
        """Name of the store."""
        return self._store.name

    def update(self, key: str, value: R | None) -> None:
        """Apply an update; None deletes the row."""
        self._store.put(key, value)

    def get(self, key: str) -> R | None:
        """Return the row, or None."""
        return self._store.get(key)


class GlobalTableJoin(Generic[L, R, O]):
    """Looks each record up in a global table by any key made of it; updates of the table trigger nothing.

    Args:
        key_of: gives the table's key from a record's key and value; None: there is nothing to look up.
        joiner: called with the record's value and the table's (None in a left join without a match).
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
        """Join one record (timestamp in ms). A null value is ignored."""
        if value is None:
            return []
        # Any task can look it up, because each has the whole table: no repartition is needed.
        wanted = self._key_of(key, value)
        row = None if wanted is None else self._table.get(wanted)
        if row is None and self._kind is Join.INNER:
            return []
        return [Result(key, self._joiner(value, row), timestamp)]
