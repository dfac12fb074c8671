"""Access of functions to window and session stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forebay.ksml.proxy import Entries, Proxy


class WindowProxy(Proxy):
    """A window store: entries by key and start of the window."""

    def put(self, key: Any, value: Any, start: int, timestamp: int | None = None) -> None:
        """Set the entry of a key and start; None deletes it."""
        self._store.put(self._text(key), self._in(value), int(start), timestamp)

    def fetch(self, *arguments: Any) -> Any:
        """Return a value by key and start; entries by key, first and last start; or by two keys and both."""
        if len(arguments) == 2:
            entry = self._store.fetch_one(self._text(arguments[0]), int(arguments[1]))
            return None if entry is None else self._show(entry)
        return self._range("fetch", arguments)

    def backwardFetch(self, *arguments: Any) -> Entries:
        """Return the entries of fetch() for ranges, in reverse order."""
        return self._range("backward_fetch", arguments)

    def fetchAll(self, first: int, last: int) -> Entries:
        """Return the entries of all keys whose start lies between two times."""
        return self._of_keys(self._store.fetch_all(int(first), int(last)))

    def backwardFetchAll(self, first: int, last: int) -> Entries:
        """Return the entries of fetchAll(), in reverse order."""
        return self._of_keys(self._store.backward_fetch_all(int(first), int(last)))

    def all(self) -> Entries:
        """Return all entries."""
        return self._of_keys(self._store.all())

    def backwardAll(self) -> Entries:
        """Return all entries, in reverse order."""
        return self._of_keys(self._store.backward_all())

    def _show(self, entry: Any) -> Any:
        return self._out(entry.value)

    def _range(self, how: str, arguments: tuple[Any, ...]) -> Entries:
        if len(arguments) == 3:
            entries = getattr(self._store, how)(self._text(arguments[0]), int(arguments[1]), int(arguments[2]))
            return Entries({"key": entry.start, "value": self._show(entry)} for entry in entries)
        one, other, first, last = arguments
        ranged = getattr(self._store, f"{how}_key_range")
        return self._of_keys(ranged(self._bound(one), self._bound(other), int(first), int(last)))

    def _of_keys(self, entries: Iterable[Any]) -> Entries:
        size = self._store.size_ms
        return Entries(
            {
                "key": {"key": self._of_row(entry.key), "start": entry.start, "end": entry.start + size},
                "value": self._show(entry),
            }
            for entry in entries
        )


class TimestampedWindowProxy(WindowProxy):
    """A window store whose values have a timestamp."""

    def _show(self, entry: Any) -> Any:
        return {"value": self._out(entry.value), "timestamp": entry.timestamp}


class SessionProxy(Proxy):
    """A session store: entries by key, start and end."""

    def put(self, session: Any, value: Any) -> None:
        """Set the value of a session (key, start, end). None removes the session."""
        self._store.put(self._text(session["key"]), int(session["start"]), int(session["end"]), self._in(value))

    def remove(self, session: Any) -> None:
        """Remove a session (key, start, end)."""
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
        """Return the entries of fetch(), in reverse order."""
        if last is None:
            return self._sessions(self._store.backward_fetch(self._text(key)))
        return self._sessions(self._store.backward_fetch_key_range(self._bound(key), self._bound(last)))

    def findSessions(self, *arguments: Any) -> Entries:
        """Return sessions by key (or two keys), earliest end and latest start."""
        return self._find("find_sessions", arguments)

    def backwardFindSessions(self, *arguments: Any) -> Entries:
        """Return the entries of findSessions(), in reverse order."""
        return self._find("backward_find_sessions", arguments)

    def _find(self, how: str, arguments: tuple[Any, ...]) -> Entries:
        if len(arguments) == 3:
            return self._sessions(getattr(self._store, how)(self._text(arguments[0]), *map(int, arguments[1:])))
        keys = (self._bound(arguments[0]), self._bound(arguments[1]))
        return self._sessions(getattr(self._store, f"{how}_key_range")(*keys, *map(int, arguments[2:])))

    def _sessions(self, entries: Iterable[Any]) -> Entries:
        return Entries(
            {
                "key": {"key": self._of_row(entry.key), "start": entry.start, "end": entry.end},
                "value": self._out(entry.value),
            }
            for entry in entries
        )
