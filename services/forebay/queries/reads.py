"""Reads of one task's rows, by store format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Any

from forebay.queries.entries import Entry
from forebay.stores.binding import Store
from forebay.stores.keys import FOREVER
from forebay.stores.listvalue import ListValueStore
from forebay.stores.scans import KeyOrderReads
from forebay.stores.session import SessionEntry, SessionStore
from forebay.stores.values import Stamped
from forebay.stores.versioned import Order, VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import WindowEntry

_BEGINNING = -(1 << 62)


class WrongQuery(ValueError):
    """The store does not support the query. The message lists what it supports."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a read; None: no bound.

    Args:
        key_from, key_to: inclusive, in the order of the keys' UTF-8 bytes.
        after: exclusive lower bound of keys.
        prefix: prefix of keys.
        time_from, time_to: ms, inclusive. For windows: their start. For sessions: sessions that overlap the interval
            (of a key) or end in it (of all keys). For versions: their validity.
        as_of: ms; selects the version that was valid then.
        descending: whether the order is reversed.
    """

    key_from: str | None = None
    key_to: str | None = None
    after: str | None = None
    prefix: str | None = None
    time_from: int | None = None
    time_to: int | None = None
    as_of: int | None = None
    descending: bool = False

    @property
    def given(self) -> set[str]:
        """The names of the bounds that are set."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name for name, value in values if value is not None and value is not False}

    @property
    def times(self) -> tuple[int, int]:
        """The bounds of time, with the smallest and largest time for None."""
        low = _BEGINNING if self.time_from is None else self.time_from
        return low, FOREVER if self.time_to is None else self.time_to


_KEYS = frozenset({"key_from", "key_to", "after", "prefix", "descending"})
_TIMES = frozenset({"time_from", "time_to", "descending"})
_KEYS_AND_TIMES = frozenset({"key_from", "key_to", *_TIMES})
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reads:
    """The reads that a store format supports.

    Args:
        by_key: bounds that a look-up of one key supports.
        in_all: bounds that a read of all keys supports.
        lookup: returns a key's entries.
        scan: returns the entries of all keys, in the order of `order`.
        order: returns the sort key of an entry.
    """

    by_key: frozenset[str]
    in_all: frozenset[str]
    lookup: Callable[[Any, str, Bounds], Iterator[Entry]]
    scan: Callable[[Any, Bounds], Iterator[Entry]]
    order: Callable[[Entry], tuple[Any, ...]]


def reads_of(store: Store[Any]) -> Reads:
    """Return the reads that a store supports. Raises WrongQuery if it can't be queried."""
    for kind, reads in _READS.items():
        if isinstance(store, kind):
            return reads
    raise WrongQuery(f"store {store.name} ({store.kind}) holds records that wait to be processed: it can't be queried")


def check_bounds(store: Store[Any], bounds: Bounds, allowed: frozenset[str], what: str) -> None:
    """Raise WrongQuery for bounds that the store does not support."""
    wrong = bounds.given - allowed
    if wrong:
        raise WrongQuery(
            f"store {store.name} ({store.kind}): a query of {what} does not have the parameter "
            f"{', '.join(sorted(wrong))}; it takes {', '.join(sorted(allowed)) or 'no bounds'}"
        )
    if "prefix" in bounds.given and bounds.given & {"key_from", "key_to"}:
        raise WrongQuery(f"store {store.name}: pass either a prefix or a range of keys, not both")
    if "as_of" in bounds.given and bounds.given & {"time_from", "time_to"}:
        raise WrongQuery(f"store {store.name}: pass either as_of or a range of times (since, until), not both")


def _key_get(store: Any, key: str, _bounds: Bounds) -> Iterator[Entry]:
    value = store.get(key)
    if value is not None:
        yield _of_value(key, value)


def _key_scan(store: KeyOrderReads[Any], bounds: Bounds) -> Iterator[Entry]:
    low, prefix = bounds.key_from or bounds.prefix, bounds.prefix or ""
    if bounds.after is not None:
        # `after` excludes its own key. This is the smallest text above it.
        low = max(low or "", bounds.after + "\0", key=str.encode)
    if bounds.descending and not prefix:
        rows = store.reverse_range(low, bounds.key_to)
    else:
        rows = takewhile(lambda row: row[0].startswith(prefix), store.range(low, bounds.key_to))
        rows = reversed(list(rows)) if bounds.descending else rows
    return (_of_value(key, value) for key, value in rows)


def _of_value(key: str, value: Any) -> Entry:
    return Entry(key, value.value, timestamp=value.timestamp) if isinstance(value, Stamped) else Entry(key, value)


def _windows_get(store: WindowStore[Any], key: str, bounds: Bounds) -> Iterator[Entry]:
    fetch = store.backward_fetch if bounds.descending else store.fetch
    return (_of_window(store, value) for value in fetch(key, *bounds.times))


def _windows_scan(store: WindowStore[Any], bounds: Bounds) -> Iterator[Entry]:
    fetch = store.backward_fetch_key_range if bounds.descending else store.fetch_key_range
    return (_of_window(store, value) for value in fetch(bounds.key_from, bounds.key_to, *bounds.times))


def _of_window(store: WindowStore[Any], entry: WindowEntry[Any]) -> Entry:
    return Entry(entry.key, entry.value, *store.window_from(entry.start), entry.timestamp)


def _sessions_get(store: SessionStore[Any], key: str, bounds: Bounds) -> Iterator[Entry]:
    find = store.backward_find_sessions if bounds.descending else store.find_sessions
    return map(_of_session, find(key, *bounds.times))


def _sessions_scan(store: SessionStore[Any], bounds: Bounds) -> Iterator[Entry]:
    # Without keys, the index by end is read in order. Otherwise all sessions would have to be sorted.
    if bounds.key_from is None and bounds.key_to is None:
        sessions = store.find_sessions_by_end(*bounds.times)
        return map(_of_session, reversed(list(sessions)) if bounds.descending else sessions)
    find = store.backward_find_sessions_key_range if bounds.descending else store.find_sessions_key_range
    return map(_of_session, find(bounds.key_from, bounds.key_to, *bounds.times))


def _of_session(entry: SessionEntry[Any]) -> Entry:
    return Entry(entry.key, entry.value, entry.start, entry.end)


def _versions_get(store: VersionedKeyValueStore[Any], key: str, bounds: Bounds) -> Iterator[Entry]:
    if bounds.given & {"time_from", "time_to", "descending"}:
        order = Order.NEWEST_FIRST if bounds.descending else Order.OLDEST_FIRST
        versions = store.get_range(key, bounds.time_from, bounds.time_to, order)
    else:
        version = store.get(key, bounds.as_of)
        versions = iter(() if version is None else (version,))
    return (Entry(key, version.value, timestamp=version.timestamp, valid_to=version.valid_to) for version in versions)


def _versions_scan(store: VersionedKeyValueStore[Any], _bounds: Bounds) -> Iterator[Entry]:
    return (Entry(key, value, timestamp=timestamp) for key, value, timestamp in store.history())


def _lists_get(store: ListValueStore[Any], key: str, _bounds: Bounds) -> Iterator[Entry]:
    return (Entry(key, value) for value in store.get(key))


def _lists_scan(store: ListValueStore[Any], _bounds: Bounds) -> Iterator[Entry]:
    return (Entry(key, value) for key, value in store.all())


def _by_key(entry: Entry) -> tuple[Any, ...]:
    # Tasks are merged in the order of the stores, which is the order of the keys' UTF-8 bytes.
    return (entry.key.encode(),)


def _by_start(entry: Entry) -> tuple[Any, ...]:
    return entry.start, entry.key.encode()


def _by_end(entry: Entry) -> tuple[Any, ...]:
    return entry.end, entry.start, entry.key.encode()


def _by_version(entry: Entry) -> tuple[Any, ...]:
    return entry.key.encode(), entry.timestamp


_READS: dict[type[Any], Reads] = {
    WindowStore: Reads(_TIMES, _KEYS_AND_TIMES, _windows_get, _windows_scan, _by_start),
    SessionStore: Reads(_TIMES, _KEYS_AND_TIMES, _sessions_get, _sessions_scan, _by_end),
    VersionedKeyValueStore: Reads(_TIMES | {"as_of"}, _NONE, _versions_get, _versions_scan, _by_version),
    ListValueStore: Reads(_NONE, _NONE, _lists_get, _lists_scan, _by_key),
    KeyOrderReads: Reads(_NONE, _KEYS, _key_get, _key_scan, _by_key),
}
