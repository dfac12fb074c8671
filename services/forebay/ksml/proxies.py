"""Access of functions to stores: KSML's method names, typed keys, and copies of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from forebay.ksml.proxy import Entries, Proxy
from forebay.ksml.timed_proxies import SessionProxy, TimestampedWindowProxy, WindowProxy
from forebay.ksml.types import Type
from forebay.stores import KeyValueStore, SessionStore, TimestampedKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.stores.binding import Store
from forebay.stores.versioned import NOT_PUT

_LATEST = -1
_NOT_PUT = -(1 << 63)


class KeyValueProxy(Proxy):
    """A key-value store."""

    def get(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        return self._out(self._store.get(self._text(key)))

    def put(self, key: Any, value: Any) -> None:
        """Set a key; None deletes it."""
        self._store.put(self._text(key), self._in(value))

    def putIfAbsent(self, key: Any, value: Any) -> Any:
        """Set a key that has no value. Return the existing value, or None."""
        present = self.get(key)
        if present is None:
            self.put(key, value)
        return present

    def delete(self, key: Any) -> Any:
        """Delete a key. Return its former value."""
        return self._out(self._store.delete(self._text(key)))

    def all(self) -> Entries:
        """Return all entries by key."""
        return self._entries(self._store.all())

    def range(self, first: Any, last: Any) -> Entries:
        """Return the entries of a range of keys, including both ends."""
        return self._entries(self._store.range(self._bound(first), self._bound(last)))

    def approximateNumEntries(self) -> int:
        """Return the number of entries."""
        return sum(1 for _ in self._store.all())

    def _entries(self, entries: Iterable[tuple[str, Any]]) -> Entries:
        return Entries({"key": self._of_row(row), "value": self._out(value)} for row, value in entries)


class TimestampedProxy(KeyValueProxy):
    """A key-value store whose values have a timestamp."""

    def put(self, key: Any, value: Any, timestamp: int = 0) -> None:
        self._store.put(self._text(key), self._in(value), int(timestamp))

    def putIfAbsent(self, key: Any, value: Any, timestamp: int = 0) -> Any:
        present = self.get(key)
        if present is None:
            self.put(key, value, timestamp)
        return present

    def _out(self, value: Any) -> Any:
        if value is None:
            return None
        return {"value": super()._out(value.value), "timestamp": value.timestamp}


class VersionedProxy(Proxy):
    """A versioned key-value store."""

    def get(self, key: Any, as_of: int | None = None) -> Any:
        """Return the version of a key that is valid at a time (ms), or now; None if there is no such version."""
        return self._version(self._store.get(self._text(key), as_of))

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        """Set a key as of a time. Return the end of the version's validity, as Kafka Streams' store does.

        _LATEST: the version has no end. _NOT_PUT: it is older than the history.
        """
        result = self._store.put(self._text(key), self._in(value), int(timestamp))
        if result is NOT_PUT:
            return _NOT_PUT
        return _LATEST if result.valid_to is None else int(result.valid_to)

    def delete(self, key: Any, timestamp: int) -> Any:
        """Delete a key as of a time. Return the version that was valid then."""
        return self._version(self._store.delete(self._text(key), int(timestamp)))

    def _version(self, found: Any) -> Any:
        if found is None:
            return None
        version = {"value": self._out(found.value), "timestamp": found.timestamp}
        return version if found.valid_to is None else {**version, "validTo": found.valid_to}


_PROXIES: tuple[tuple[type[Store[Any]], type[Proxy]], ...] = (
    (TimestampedKeyValueStore, TimestampedProxy),
    (VersionedKeyValueStore, VersionedProxy),
    (WindowStore, WindowProxy),
    (SessionStore, SessionProxy),
    (KeyValueStore, KeyValueProxy),
)


class UnstampedProxy(TimestampedProxy):
    """The store of a table or aggregate without `timestamped` in its definition: values without timestamps."""

    def _out(self, value: Any) -> Any:
        return None if value is None else Proxy._out(self, value.value)


def proxy_of(
    store: Store[Any],
    key: Type,
    value: Type,
    row: Callable[[Any], str],
    of_row: Callable[[str], Any],
    *,
    is_stamped: bool = False,
) -> Proxy:
    """Return the object by which functions access a task's store.

    Args:
        is_stamped: whether functions receive the timestamps of values.
    """
    if isinstance(store, TimestampedKeyValueStore) and not is_stamped:
        return UnstampedProxy(store, key, value, row, of_row)
    if isinstance(store, WindowStore) and is_stamped:
        return TimestampedWindowProxy(store, key, value, row, of_row)
    for kind, proxy in _PROXIES:
        if isinstance(store, kind):
            return proxy(store, key, value, row, of_row)
    raise TypeError(f"store {store.name}: functions can't use a {type(store).__name__}")
