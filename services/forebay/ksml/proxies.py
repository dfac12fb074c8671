"""Stores as functions see them: KSML's names, typed keys, values that may be changed without harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from forebay.ksml.types import Type
from forebay.ksml.values import WrongType, giver_of, taker_of
from forebay.stores import KeyValueStore, SessionStore, TimestampedKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.stores.binding import Store


class Entries(Iterator[Any]):
    """What a range of a store gives: an iterator of Python's, and of Java's."""

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = iter(entries)
        self._ahead: list[Any] = []

    def __next__(self) -> Any:
        return self._ahead.pop() if self._ahead else next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hasNext(self) -> bool:
        """Tell whether there is another entry."""
        if not self._ahead:
            for each in self._entries:
                self._ahead.append(each)
                break
        return bool(self._ahead)

    def next(self) -> Any:
        """Return the next entry, or None."""
        return next(self, None)

    def close(self) -> None:
        """Give no more entries."""
        self._entries = iter(())
        self._ahead.clear()


class Proxy:
    """A store's keys and values on their way to a function and back.

    Args:
        key, value: their types.
        row, of_row: what make a key's row text, and a key of it.
    """

    def __init__(
        self, store: Any, key: Type, value: Type, row: Callable[[Any], str], of_row: Callable[[str], Any]
    ) -> None:
        self._store = store
        self._take_key, self._row, self._of_row = taker_of(key), row, of_row
        self._give, self._take = giver_of(value), taker_of(value)

    def name(self) -> str:
        """Return the store's name."""
        return str(self._store.name)

    def persistent(self) -> bool:
        """Tell that rows survive."""
        return True

    def isOpen(self) -> bool:
        """Tell that it can be used."""
        return True

    def flush(self) -> None:
        """Do nothing: rows leave with the commit."""

    def close(self) -> None:
        """Do nothing: the job closes it."""

    def _text(self, key: Any) -> str:
        if key is None:
            raise WrongType(f"store {self._store.name}: a key is None: give one")
        return self._row(self._take_key(key))

    def _bound(self, key: Any) -> str | None:
        return None if key is None else self._text(key)

    def _out(self, value: Any) -> Any:
        return value if value is None or self._give is None else self._give(value)

    def _in(self, value: Any) -> Any:
        try:
            return self._take(value)
        except WrongType as error:
            raise WrongType(f"store {self._store.name}: {error}") from error


class KeyValueProxy(Proxy):
    """A key-value store."""

    def get(self, key: Any) -> Any:
        """Return the value of a key, or None."""
        return self._out(self._store.get(self._text(key)))

    def put(self, key: Any, value: Any) -> None:
        """Set a key; None deletes it."""
        self._store.put(self._text(key), self._in(value))

    def putIfAbsent(self, key: Any, value: Any) -> Any:
        """Set a key that has no value; return the one it has."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def delete(self, key: Any) -> Any:
        """Delete a key; return the value it had."""
        return self._out(self._store.delete(self._text(key)))

    def all(self) -> Entries:
        """Return all entries by key."""
        return self._entries(self._store.all())

    def range(self, first: Any, last: Any) -> Entries:
        """Return the entries of a range of keys, both ends included."""
        return self._entries(self._store.range(self._bound(first), self._bound(last)))

    def approximateNumEntries(self) -> int:
        """Count the entries."""
        return sum(1 for _ in self._store.all())

    def _entries(self, entries: Iterable[tuple[str, Any]]) -> Entries:
        return Entries({"key": self._of_row(row), "value": self._out(value)} for row, value in entries)


class TimestampedProxy(KeyValueProxy):
    """A key-value store whose values have a timestamp."""

    def put(self, key: Any, value: Any, timestamp: int = 0) -> None:
        self._store.put(self._text(key), self._in(value), int(timestamp))

    def putIfAbsent(self, key: Any, value: Any, timestamp: int = 0) -> Any:
        found = self.get(key)
        if found is None:
            self.put(key, value, timestamp)
        return found

    def _out(self, value: Any) -> Any:
        if value is None:
            return None
        return {"value": super()._out(value.value), "timestamp": value.timestamp}


class VersionedProxy(Proxy):
    """A versioned key-value store."""

    def get(self, key: Any, as_of: int | None = None) -> Any:
        """Return the version of a key that holds at a time (ms), or now; None: there is none."""
        return self._version(self._store.get(self._text(key), as_of))

    def put(self, key: Any, value: Any, timestamp: int) -> None:
        """Set a key as of a time."""
        self._store.put(self._text(key), self._in(value), int(timestamp))

    def delete(self, key: Any, timestamp: int) -> Any:
        """Delete a key as of a time; return the version that held then."""
        return self._version(self._store.delete(self._text(key), int(timestamp)))

    def _version(self, found: Any) -> Any:
        if found is None:
            return None
        made = {"value": self._out(found.value), "timestamp": found.timestamp}
        return made if found.valid_to is None else {**made, "validTo": found.valid_to}


class WindowProxy(Proxy):
    """A window store: entries by key and start of the window."""

    def put(self, key: Any, value: Any, start: int, timestamp: int | None = None) -> None:
        """Set the entry of a key and start; None deletes it."""
        self._store.put(self._text(key), self._in(value), int(start), timestamp)

    def fetch(self, *arguments: Any) -> Any:
        """Return a value by key and start; entries by key, first and last start; or by two keys and both."""
        if len(arguments) == 2:
            found = self._store.fetch_one(self._text(arguments[0]), int(arguments[1]))
            return None if found is None else self._out(found.value)
        return self._range("fetch", arguments)

    def backwardFetch(self, *arguments: Any) -> Entries:
        """Return what fetch() returns of ranges, backwards."""
        return self._range("backward_fetch", arguments)

    def fetchAll(self, first: int, last: int) -> Entries:
        """Return the entries of all keys whose start lies between two times."""
        return self._of_keys(self._store.fetch_all(int(first), int(last)))

    def backwardFetchAll(self, first: int, last: int) -> Entries:
        """Return what fetchAll() returns, backwards."""
        return self._of_keys(self._store.backward_fetch_all(int(first), int(last)))

    def all(self) -> Entries:
        """Return all entries."""
        return self._of_keys(self._store.all())

    def backwardAll(self) -> Entries:
        """Return all entries, backwards."""
        return self._of_keys(self._store.backward_all())

    def _range(self, how: str, arguments: tuple[Any, ...]) -> Entries:
        if len(arguments) == 3:
            found = getattr(self._store, how)(self._text(arguments[0]), int(arguments[1]), int(arguments[2]))
            return Entries({"key": each.start, "value": self._out(each.value)} for each in found)
        one, other, first, last = arguments
        ranged = getattr(self._store, f"{how}_key_range")
        return self._of_keys(ranged(self._bound(one), self._bound(other), int(first), int(last)))

    def _of_keys(self, entries: Iterable[Any]) -> Entries:
        size = self._store.size_ms
        return Entries(
            {
                "key": {"key": self._of_row(each.key), "start": each.start, "end": each.start + size},
                "value": self._out(each.value),
            }
            for each in entries
        )


class SessionProxy(Proxy):
    """A session store: entries by key, start and end."""

    def put(self, session: Any, value: Any) -> None:
        """Set a session, given with key, start and end; None removes it."""
        self._store.put(self._text(session["key"]), int(session["start"]), int(session["end"]), self._in(value))

    def remove(self, session: Any) -> None:
        """Remove a session, given with key, start and end."""
        self._store.remove(self._text(session["key"]), int(session["start"]), int(session["end"]))

    def fetchSession(self, key: Any, start: int, end: int) -> Any:
        """Return the value of a session, or None."""
        return self._out(self._store.fetch_session(self._text(key), int(start), int(end)))

    def fetch(self, key: Any, last: Any = None) -> Entries:
        """Return the sessions of a key, or of a range of keys."""
        if last is None:
            return self._sessions(self._store.fetch(self._text(key)))
        return self._sessions(self._store.fetch_key_range(self._bound(key), self._bound(last)))

    def backwardFetch(self, key: Any, last: Any = None) -> Entries:
        """Return what fetch() returns, backwards."""
        if last is None:
            return self._sessions(self._store.backward_fetch(self._text(key)))
        return self._sessions(self._store.backward_fetch_key_range(self._bound(key), self._bound(last)))

    def findSessions(self, *arguments: Any) -> Entries:
        """Return sessions by key (or two keys), earliest end and latest start."""
        return self._found("find_sessions", arguments)

    def backwardFindSessions(self, *arguments: Any) -> Entries:
        """Return what findSessions() returns, backwards."""
        return self._found("backward_find_sessions", arguments)

    def _found(self, how: str, arguments: tuple[Any, ...]) -> Entries:
        if len(arguments) == 3:
            return self._sessions(getattr(self._store, how)(self._text(arguments[0]), *map(int, arguments[1:])))
        keys = (self._bound(arguments[0]), self._bound(arguments[1]))
        return self._sessions(getattr(self._store, f"{how}_key_range")(*keys, *map(int, arguments[2:])))

    def _sessions(self, entries: Iterable[Any]) -> Entries:
        return Entries(
            {
                "key": {"key": self._of_row(each.key), "start": each.start, "end": each.end},
                "value": self._out(each.value),
            }
            for each in entries
        )


_PROXIES: tuple[tuple[type[Store[Any]], type[Proxy]], ...] = (
    (TimestampedKeyValueStore, TimestampedProxy),
    (VersionedKeyValueStore, VersionedProxy),
    (WindowStore, WindowProxy),
    (SessionStore, SessionProxy),
    (KeyValueStore, KeyValueProxy),
)


class UnstampedProxy(TimestampedProxy):
    """A table's or aggregate's store, of a definition that does not say `timestamped`: its values alone."""

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
    """Return a task's store as functions see it.

    Args:
        is_stamped: whether functions see the timestamps of values.
    """
    if isinstance(store, TimestampedKeyValueStore) and not is_stamped:
        return UnstampedProxy(store, key, value, row, of_row)
    for kind, proxy in _PROXIES:
        if isinstance(store, kind):
            return proxy(store, key, value, row, of_row)
    raise TypeError(f"store {store.name}: functions can't use a {type(store).__name__}")
