"""Tables as operators see them: the latest value of each key, by offset or by timestamp."""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.values import Stamped
from forebay.stores.versioned import NOT_PUT, VersionedKeyValueStore

V = TypeVar("V")


class Change(NamedTuple, Generic[V]):
    """One change of a table: old and new value (None: none) of a key, and the update's timestamp in ms.

    Args:
        is_latest: whether it is the key's latest by timestamp; if not, `old` is not known, and only a history wants it.
    """

    key: str
    new: V | None
    old: V | None
    timestamp: int
    is_latest: bool = True


class TableView(Protocol[V]):
    """Where a join looks up the other side."""

    def get(self, key: str) -> Stamped[V] | None:
        """Return the key's latest value and its timestamp, or None."""
        ...


class Table(Protocol[V]):
    """A table fed by updates."""

    @property
    def name(self) -> str:
        """Name of the store behind it."""
        ...

    @property
    def history_retention_ms(self) -> int | None:
        """How long versions are kept, in ms; None: the table is not versioned."""
        ...

    def update(self, key: str, value: V | None, timestamp: int) -> Change[V] | None:
        """Apply an update; give the change that operators see, or None if they ignore it."""
        ...

    def get(self, key: str) -> Stamped[V] | None:
        """Return the key's latest value and its timestamp, or None."""
        ...

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        """Return the value that a record at `timestamp` (ms) meets, or None."""
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
        return Change(key, value, None if old is None else old.value, timestamp)

    def get(self, key: str) -> Stamped[V] | None:
        return self._store.get(key)

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        row = self._store.get(key)
        return None if row is None else row.value


class LatestByTimestamp(Generic[V]):
    """A versioned table: the update with the largest timestamp wins; operators ignore every other."""

    def __init__(self, store: VersionedKeyValueStore[V]) -> None:
        self._store = store

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
        """Apply an update; give its change, whether it is the latest or of the history; None: it is too late."""
        old = self._store.get(key)
        put = self._store.put(key, value, timestamp)
        if put is NOT_PUT:
            return None
        # An older version: what was valid before it is not looked up, because only a history uses it.
        if put.valid_to is not None:
            return Change(key, value, None, timestamp, is_latest=False)
        return Change(key, value, None if old is None else old.value, timestamp)

    def get(self, key: str) -> Stamped[V] | None:
        row = self._store.get(key)
        return None if row is None else Stamped(row.value, row.timestamp)

    def get_as_of(self, key: str, timestamp: int) -> V | None:
        row = self._store.get(key, timestamp)
        return None if row is None else row.value
