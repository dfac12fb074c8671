"""Tables as inputs of operators. The latest value of a key is determined by offset or by timestamp."""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.values import Stamped
from forebay.stores.versioned import NOT_PUT, VersionedKeyValueStore

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class Change(NamedTuple, Generic[V]):
    """A change of a table's row: its old and new value (None: no row), and the update's timestamp in ms.

    Args:
        is_latest: Whether it is the latest change of the key, by timestamp. If not, `old` is unknown, and only
            operators that use the history process the change.
        old_timestamp: Timestamp with which the old row was forwarded, in ms. None: there is no old row. A left or outer
            join that stores no rows does not know it if the deletion of its other side changed the row last.
    """

    key: str
    new: V | None
    old: V | None
    timestamp: int
    is_latest: bool = True
    old_timestamp: int | None = None

    def with_values(self, new: O | None, old: O | None) -> Change[O]:
        """Return the change of a row that is computed from this one, with the same timestamps."""
        # Without an old row, there is no former timestamp. A join would take it for that of the joined row.
        before = None if old is None else self.old_timestamp
        return Change(self.key, new, old, self.timestamp, self.is_latest, before)


def change_of_row(key: str, value: V | None, old: Stamped[V] | None, timestamp: int) -> Change[V]:
    """Return the change from a row of a store to a value."""
    if old is None:
        return Change(key, value, None, timestamp)
    return Change(key, value, old.value, timestamp, True, old.timestamp)


class TableView(Protocol[V]):
    """The rows of a table, which a join looks up."""

    def get(self, key: str) -> Stamped[V] | None:
        """Return the key's latest value and its timestamp, or None."""
        ...


class Table(Protocol[V]):
    """A table to which updates are applied."""

    @property
    def name(self) -> str:
        """Name of the store of its rows."""
        ...

    @property
    def history_retention_ms(self) -> int | None:
        """How long versions are stored, in ms. None: the table is not versioned."""
        ...

    def update(self, key: str, value: V | None, timestamp: int) -> Change[V] | None:
        """Apply an update. Return the change, or None if operators ignore it."""
        ...

    def get(self, key: str) -> Stamped[V] | None:
        """Return the key's latest value and its timestamp, or None."""
        ...

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        """Return the value with which a record at `timestamp` (ms) is joined, or None."""
        ...


class LatestByOffset(Generic[V]):
    """A table in which the last update wins, regardless of its timestamp."""

    history_retention_ms: int | None = None

    def __init__(self, store: TimestampedKeyValueStore[V]) -> None:
        self._store = store

    @property
    def name(self) -> str:
        return self._store.name

    def update(self, key: str, value: V | None, timestamp: int) -> Change[V] | None:
        old = self._store.get(key)
        self._store.put(key, value, timestamp)
        return change_of_row(key, value, old, timestamp)

    def get(self, key: str) -> Stamped[V] | None:
        return self._store.get(key)

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        row = self._store.get(key)
        return None if row is None else row.value


class LatestByTimestamp(Generic[V]):
    """A versioned table, in which the update with the largest timestamp wins. Operators ignore older updates.

    Args:
        store: Store of its rows.
        is_copy: Whether its updates are those that another table has accepted (see `VersionedKeyValueStore.put_row`).
    """

    def __init__(self, store: VersionedKeyValueStore[V], *, is_copy: bool = False) -> None:
        self._store = store
        self._put = store.put_row if is_copy else store.put

    @property
    def name(self) -> str:
        return self._store.name

    @property
    def history_retention_ms(self) -> int | None:
        return self._store.history_retention_ms

    def update(self, key: str, value: V | None, timestamp: int) -> Change[V] | None:
        update = self.update_any(key, value, timestamp)
        return update if update is not None and update.is_latest else None

    def update_any(self, key: str, value: V | None, timestamp: int) -> Change[V] | None:
        """Apply an update. Return its change even if it is not the latest, or None if it is too late."""
        old = self._store.get(key)
        put = self._put(key, value, timestamp)
        if put is NOT_PUT:
            return None
        # For an older version, the value before it is not looked up, because only a history uses the change.
        if put.valid_to is not None:
            return Change(key, value, None, timestamp, is_latest=False)
        return change_of_row(key, value, None if old is None else Stamped(old.value, old.timestamp), timestamp)

    def get(self, key: str) -> Stamped[V] | None:
        row = self._store.get(key)
        return None if row is None else Stamped(row.value, row.timestamp)

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        row = self._store.get(key, timestamp)
        return None if row is None else row.value
