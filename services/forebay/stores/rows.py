"""A store's rows in a task: the committed table with the uncommitted changes, which can be undone per record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from sortedcontainers import SortedList

from forebay.codec import Codec, DecodeError, EncodeError, Unavailable, canonical_of
from forebay.limits.room import Room
from forebay.stores.generations import Generations
from forebay.stores.keys import unpack_time
from forebay.stores.table import Change, Table, prefix_end
from forebay.stores.values import StampedCodec

V = TypeVar("V")

_MISSING: Any = object()


class Journal:
    """The changes of the record that is being processed, so that an exception can undo them."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[tuple[Rows[Any], bytes, Any, bool]] = []

    def roll_back(self, since: int = 0) -> None:
        """Undo the changes from number `since` on, newest first."""
        # Newest first: if a row was put twice, its first entry has the value to restore.
        for rows, key, old, was_dirty in reversed(self.entries[since:]):
            rows.restore(key, old, was_dirty)
        del self.entries[since:]

    def commit(self) -> None:
        """Keep the changes."""
        self.entries.clear()


class StoreEncodeError(Exception):
    """A value can't be encoded with its store's contract. This is found when the changes of a commit are encoded."""


class StateUnreadable(Unavailable):
    """A row of the state can't be decoded. No record is at fault, so the commit fails and is retried."""


class Rows(Generic[V]):
    """The rows of one store: decoded objects and a table of bytes.

    The objects must be immutable. `CopiedRows` is for mutable values.

    Args:
        store: Name of the store. Keys in the table are this name, a zero byte and the row's key.
        journal: Journal of all stores of the task.
        cached: Maximum number of decoded objects that are cached across commits.
        room: Record limits of the rows' changelog. None: no limits.
    """

    def __init__(
        self, store: str, table: Table, codec: Codec[V], journal: Journal, cached: int, room: Room | None = None
    ) -> None:
        self.store = store
        self._room = room
        self._is_stamped = isinstance(codec, StampedCodec)
        self.prefix = store.encode() + b"\0"
        self._table = table
        self._codec = codec
        self._canonical = canonical_of(codec)
        self._journal = journal
        self._generations = Generations(cached)
        self._objects: dict[bytes, V | None] = {}
        self._older: dict[bytes, V | None] = {}
        """Decoded rows that were not used recently. A key is in at most one of the two."""
        self._dirty: dict[bytes, None] = {}
        self._dirty_sorted: SortedList | None = None
        self._edits = 0
        self._loads = 0
        self.gets = self.puts = 0
        """Number of reads and changes by key since the task was opened, including those that were undone."""

    def get(self, key: bytes) -> V | None:
        """Return the row's value, or None."""
        self.gets += 1
        value = self._objects.get(key, _MISSING)
        return self._load(key) if value is _MISSING else value

    def put(self, key: bytes, value: V | None) -> None:
        """Set the row. None deletes it. A row that is added and deleted within a commit causes no change.

        The cached value is what decoding the row's bytes would return. Raise EncodeError if it can't be encoded.
        """
        self.puts += 1
        if self._canonical is not None and value is not None:
            value = self._as_read_back(key, value, self._canonical)
        objects, dirty = self._objects, self._dirty
        was_dirty = key in dirty
        # The journal needs the value before this put, and a value that was not decoded is read again from the table.
        old = objects.get(key, _MISSING)
        if old is _MISSING:
            old = self._older.pop(key, _MISSING)
        self._journal.entries.append((self, key, old, was_dirty))
        # The delete of a row that was never committed needs no tombstone, because the row is not in the changelog.
        if value is None and self._table.get(self.prefix + key) is None:
            objects.pop(key, None)
            if was_dirty:
                self._forget(key)
            return
        objects[key] = value
        if not was_dirty:
            self._note(key)

    def _as_read_back(self, key: bytes, value: V, canonical: Callable[[V], V]) -> V:
        try:
            return canonical(value)
        except EncodeError as error:
            raise EncodeError(self._naming_row(key, error)) from error

    def _naming_row(self, key: bytes, error: Exception) -> str:
        return f"store {self.store}, key {key[:100]!r}: {error}"

    def scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        """Return rows with start <= key < end (None: to the store's end) in key order."""
        table_end = prefix_end(self.prefix) if end is None else self.prefix + end
        confirmed = self._table.scan(self.prefix + start, table_end)
        return self._merge(confirmed, start, end, descending=False)

    def scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        """Return rows with start <= key < end (None: to the store's end) in reverse key order."""
        table_end = prefix_end(self.prefix) if end is None else self.prefix + end
        confirmed = self._table.scan_reverse(self.prefix + start, table_end)
        return self._merge(confirmed, start, end, descending=True)

    def restore(self, key: bytes, old: V | None, was_dirty: bool) -> None:
        """Undo one put. The journal calls this."""
        if old is _MISSING:
            self._objects.pop(key, None)
        else:
            self._objects[key] = old
        if key in self._dirty:
            if not was_dirty:
                self._forget(key)
        elif was_dirty:
            self._note(key)

    def confirmed_keys(self) -> Iterator[bytes]:
        """Return the keys of the rows in the table, without this commit's changes."""
        cut = len(self.prefix)
        return (key[cut:] for key, _ in self._table.scan(self.prefix, prefix_end(self.prefix)))

    def decode_first(self, most: int) -> int:
        """Decode the first `most` rows of the table and return their number. Raise DecodeError or Unavailable."""
        count = 0
        for _, data in islice(self._table.scan(self.prefix, prefix_end(self.prefix)), most):
            self._codec.decode(data)
            count += 1
        return count

    @property
    def has_changes(self) -> bool:
        """Whether this commit has changed any row so far."""
        return bool(self._dirty)

    def check(self, key: bytes) -> None:
        """Encode the row's current value. Raise EncodeError if the contract or the changelog does not allow it."""
        value = self._objects.get(key)
        if value is not None:
            try:
                self._encode(key, value)
            except EncodeError as error:
                raise EncodeError(self._naming_row(key, error)) from error

    def changes(self) -> Iterator[Change]:
        """Yield one change per row, in order of the first change. Raise StoreEncodeError if one can't be encoded."""
        encode, objects, prefix = self._encode, self._objects, self.prefix
        for key in self._dirty:
            value = objects[key]
            try:
                yield prefix + key, None if value is None else encode(key, value)
            except (Unavailable, MemoryError):
                raise
            except Exception as error:
                raise StoreEncodeError(self._naming_row(key, error)) from error

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now."""
        objects = self._objects
        for key in self._dirty:
            # The table no longer has the row, so the deletion need not be remembered.
            if objects[key] is None:
                del objects[key]
        self._dirty.clear()
        self._dirty_sorted = None
        self._objects, self._older = self._generations.next(objects, self._older, self.gets, self._loads)

    def discard(self) -> None:
        """Discard changes and cached objects, so that only the table's rows remain."""
        self._dirty.clear()
        self._dirty_sorted = None
        self._objects.clear()
        self._older.clear()

    def _encode(self, key: bytes, value: V) -> bytes:
        data = self._codec.encode(value)
        room = self._room
        if room is not None:
            size = len(self.prefix) + len(key) + len(data)
            at = unpack_time(data) if self._is_stamped else room.first
            if size > room.most or not room.first <= at <= room.last:
                room.check("a row", size, at)
        return data

    def _load(self, key: bytes) -> V | None:
        older: V | None = self._older.pop(key, _MISSING)
        if older is not _MISSING:
            self._objects[key] = older
            return older
        self._loads += 1
        data = self._table.get(self.prefix + key)
        try:
            value = None if data is None else self._codec.decode(data)
        except (Unavailable, MemoryError):
            raise
        except Exception as error:
            raise StateUnreadable(unreadable(self.store, key, error)) from error
        self._objects[key] = value
        return value

    def _note(self, key: bytes) -> None:
        self._dirty[key] = None
        if self._dirty_sorted is not None:
            self._dirty_sorted.add(key)
            self._edits += 1

    def _forget(self, key: bytes) -> None:
        del self._dirty[key]
        if self._dirty_sorted is not None:
            self._dirty_sorted.remove(key)
            self._edits += 1

    def _changed_keys(self, low: bytes, high: bytes | None, descending: bool) -> Iterator[bytes]:
        if self._dirty_sorted is None:
            self._dirty_sorted = SortedList(self._dirty)
        keys: Iterator[bytes] = self._dirty_sorted.irange(low, high, inclusive=(True, False), reverse=descending)
        return keys

    def _merge(
        self, confirmed: Iterator[tuple[bytes, bytes]], low: bytes, high: bytes | None, descending: bool
    ) -> Iterator[tuple[bytes, V]]:
        """Yield each row as it is when the scan reaches it. Only puts of keys that are still ahead have an effect."""
        cut, dirty = len(self.prefix), self._dirty
        table_key, dirty_key = _key_of(confirmed, cut), None
        changed: Iterator[bytes] | None = None
        seen = -1
        while True:
            # A put during the scan changes the sorted keys. An iterator over them would then skip or repeat keys.
            if seen != self._edits:
                changed, seen = self._changed_keys(low, high, descending), self._edits
                dirty_key = next(changed, None)
            # If this commit changed the row, it is yielded with the changed keys.
            while table_key is not None and table_key in dirty:
                table_key = _key_of(confirmed, cut)
            if table_key is None and dirty_key is None:
                return
            if table_key is None or (
                dirty_key is not None and (dirty_key > table_key if descending else dirty_key < table_key)
            ):
                assert dirty_key is not None
                assert changed is not None
                key, dirty_key = dirty_key, next(changed, None)
            else:
                key, table_key = table_key, _key_of(confirmed, cut)
            if descending:
                high = key
            else:
                low = key + b"\0"
            # Read the row now, because the caller may have changed or deleted it since the scan began.
            value = self.get(key)
            if value is not None:
                yield key, value


def unreadable(store: str, key: bytes, error: Exception) -> str:
    """Return the message for a row that can't be decoded, which says what to do."""
    remedy = (
        "is the schema registry the one the job always had, with all its schemas? Then the state is damaged: move the "
        "checkpoint away and `forebay restore` rebuilds it from the changelogs"
        if isinstance(error, DecodeError)
        else "the job continues by itself once it can be"
    )
    return f"store {store}, key {key[:100]!r}: the row can't be read: {type(error).__name__}: {error}; {remedy}"


def _key_of(confirmed: Iterator[tuple[bytes, bytes]], cut: int) -> bytes | None:
    row = next(confirmed, None)
    return None if row is None else row[0][cut:]
