"""The window store of a task: values by key and window start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, RowValue, Store, TaskStores, checked_ms
from forebay.stores.keys import FOREVER, WIDTH, after, encode_key, pack_time, split_text, terminate, unpack_time
from forebay.stores.layout import BEHIND_A_TIME, FIRST_PART, OWN
from forebay.stores.purge import Purge, step_of
from forebay.stores.rows import Rows
from forebay.stores.scans import text_bounds
from forebay.stores.values import PRESENT, BytesCodec, Stamped, StampedCodec
from forebay.time.base import Window
from forebay.time.durations import Duration

V = TypeVar("V")

_LATEST = b"latest"
_PUTS = b"puts"
_BEGINNING = -(1 << 62)
_ONLY = pack_time(0)


class Duplicates(Enum):
    """What a second put with the same key and window start does."""

    REPLACE = "replace"
    KEEP = "keep"


class WindowEntry(NamedTuple, Generic[V]):
    """One entry. Its window starts at `start` (ms); `timestamp` (ms) is the time that it was put with."""

    key: str
    start: int
    value: V
    timestamp: int


class WindowStore(Store[V]):
    """A store with values by key and window start, which are retained relative to the latest window start.

    An entry is visible if its start is later than the latest start minus `retention_ms`. A put of an entry that would
    not be visible is refused and counted in `dropped_total`. Later puts delete expired rows, a limited number at a
    time.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        size_ms: Length of a window, or of the longest window.
        retention_ms: Retention, at least the length of a window.
        window_from: Function that returns the window that starts at a time (ms). By default, its length is `size_ms`.
    """

    row_value = RowValue.STAMPED
    kind = "window"
    key_places = MappingProxyType({OWN: FIRST_PART, "starts": BEHIND_A_TIME})
    fixed = ("size_ms", "duplicates")
    limits = ("retention_ms",)

    def __init__(
        self,
        name: str,
        value: type[V] | Format[V],
        *,
        size_ms: Duration,
        retention_ms: Duration,
        duplicates: Duplicates = Duplicates.REPLACE,
        window_from: Callable[[int], Window] | None = None,
    ) -> None:
        super().__init__(name, value)
        self.size_ms = checked_ms(name, "size_ms", size_ms, 1)
        self.retention_ms = checked_ms(name, "retention_ms", retention_ms, 0)
        if self.retention_ms < self.size_ms:
            raise ValueError(
                f"store {name}: retention_ms {self.retention_ms} is shorter than its windows of {self.size_ms} ms; "
                f"specify at least the window's size plus its grace"
            )
        self.duplicates = duplicates
        self._window_from = window_from
        self.dropped_total = 0
        self._rows: Rows[Stamped[V]] = self._unbound()
        self._by_start: Rows[bytes] = self._unbound()
        self.marks: Marks = self._unbound()
        self._purge: Purge = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, StampedCodec(codec))
        self._by_start = task.internal(self.name, "starts", BytesCodec())
        self.marks = task.marks(self.name)
        self._purge = Purge(self._by_start, self.marks, step_of(self.retention_ms), self._remove_indexed)

    def put(self, key: str, value: V | None, start: int, timestamp: int | None = None) -> bool:
        """Set the value of a key and window start. None deletes it; with Duplicates.KEEP, None does nothing.

        Args:
            key: Key of the entry.
            value: New value, or None.
            start: Start of the window, in ms.
            timestamp: Time that is stored with the value; by default, `start`.

        Returns:
            Whether the entry was accepted.
        """
        latest = self._latest_with(start)
        if latest is None:
            return False
        number = self._number(value)
        if number is not None:
            prefix, at = terminate(encode_key(self.name, key)), pack_time(start)
            row, index = prefix + at + number, at + prefix + number
            if value is None:
                self._remove(row, index)
            else:
                self._check_value(value)
                if self._rows.get(row) is None:
                    self._by_start.put(index, PRESENT)
                self._rows.put(row, Stamped(value, start if timestamp is None else timestamp))
        self._purge.run(latest - self.retention_ms)
        return True

    def update(
        self, key: str, start: int, timestamp: int, change: Callable[[V | None], V | None]
    ) -> Stamped[V | None] | None:
        """Set the value of a key and window start to a function of the present value.

        The entry's timestamp is the largest one that it was updated with.

        Args:
            key: Key of the entry.
            start: Start of the window, in ms.
            timestamp: Timestamp of the update, in ms.
            change: Function of the present value (None: there is none) that returns the new one. None deletes the
                entry.

        Returns:
            The new value and timestamp, or None if the entry was refused.

        Raises:
            TypeError: The store keeps duplicates.
        """
        if self.duplicates is Duplicates.KEEP:
            raise TypeError(f"store {self.name} keeps duplicates: put another entry instead of changing one")
        latest = self._latest_with(start)
        if latest is None:
            return None
        prefix, at = terminate(encode_key(self.name, key)), pack_time(start)
        row = prefix + at + _ONLY
        current = self._rows.get(row)
        value = change(None if current is None else current.value)
        if current is not None and current.timestamp > timestamp:
            timestamp = current.timestamp
        if value is not None:
            self._check_value(value)
            # An index row exists exactly as long as its entry: scans by start and the purge rely on it.
            if current is None:
                self._by_start.put(at + prefix + _ONLY, PRESENT)
            self._rows.put(row, Stamped(value, timestamp))
        elif current is not None:
            self._rows.put(row, None)
            self._by_start.put(at + prefix + _ONLY, None)
        self._purge.run(latest - self.retention_ms)
        return Stamped(value, timestamp)

    def window_from(self, start: int) -> Window:
        """Return the window that starts at `start` (ms)."""
        if self._window_from is None:
            return Window(start, start + self.size_ms)
        return self._window_from(start)

    def adapt(self) -> None:
        self._purge.restart()

    def fetch_one(self, key: str, start: int) -> WindowEntry[V] | None:
        """Return the entry of `key` and `start`, or None. If there are several, return the newest."""
        if self.duplicates is Duplicates.KEEP:
            return next(self.backward_fetch(key, start, start), None)
        if start < self._visible(start):
            return None
        row = self._rows.get(terminate(encode_key(self.name, key)) + pack_time(start) + _ONLY)
        return None if row is None else WindowEntry(key, start, row.value, row.timestamp)

    def fetch(self, key: str, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the entries of `key` with start_from <= start <= start_to, by start and then order of puts."""
        return self._entries(key, self._rows.scan(*self._bounds(key, start_from, start_to)))

    def backward_fetch(self, key: str, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch` in reverse order."""
        return self._entries(key, self._rows.scan_reverse(*self._bounds(key, start_from, start_to)))

    def fetch_key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> Iterator[WindowEntry[V]]:
        """Return the entries of keys in [key_from, key_to] with start_from <= start <= start_to, by start, then key.

        None as a bound of the keys leaves the range open.
        """
        if key_from is None and key_to is None:
            return self.fetch_all(start_from, start_to)
        return iter(self._key_range(key_from, key_to, start_from, start_to))

    def backward_fetch_key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch_key_range` in reverse order."""
        if key_from is None and key_to is None:
            return self.backward_fetch_all(start_from, start_to)
        return reversed(self._key_range(key_from, key_to, start_from, start_to))

    def fetch_all(self, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the entries of all keys with start_from <= start <= start_to, sorted by start and then by key."""
        return self._entries_by_index(self._by_start.scan(*self._index_bounds(start_from, start_to)))

    def backward_fetch_all(self, start_from: int, start_to: int) -> Iterator[WindowEntry[V]]:
        """Return the results of `fetch_all` in reverse order."""
        return self._entries_by_index(self._by_start.scan_reverse(*self._index_bounds(start_from, start_to)))

    def all(self) -> Iterator[WindowEntry[V]]:
        """Return all entries, sorted by start and then by key."""
        return self.fetch_all(_BEGINNING, FOREVER)

    def backward_all(self) -> Iterator[WindowEntry[V]]:
        """Return all entries in reverse order."""
        return self.backward_fetch_all(_BEGINNING, FOREVER)

    def first_start(self, start_from: int) -> int | None:
        """Return the smallest start >= `start_from` of any entry, or None."""
        low, high = self._index_bounds(start_from, FOREVER)
        row = next(self._by_start.scan(low, high), None)
        return None if row is None else unpack_time(row[0])

    def _latest_with(self, start: int) -> int | None:
        latest = self.marks.get(_LATEST, _BEGINNING)
        if start > latest:
            self.marks.set(_LATEST, start)
            return start
        # Refused, not only hidden: the purge relies on it that no row is added behind its bound.
        if start <= latest - self.retention_ms:
            self.dropped_total += 1
            return None
        return latest

    def _number(self, value: V | None) -> bytes | None:
        if self.duplicates is Duplicates.REPLACE:
            return _ONLY
        if value is None:
            return None
        # The counter is a row of the store, so it is undone with a record that fails, and a restart continues it.
        number = self.marks.get(_PUTS, 0)
        self.marks.set(_PUTS, number + 1)
        return pack_time(number)

    def _remove(self, row: bytes, index: bytes) -> None:
        if self._rows.get(row) is not None:
            self._rows.put(row, None)
            self._by_start.put(index, None)

    def _remove_indexed(self, index: bytes) -> None:
        rest = index[WIDTH:]
        # The index has the parts of a row's key in another order: the start comes first.
        self._rows.put(rest[:-WIDTH] + index[:WIDTH] + rest[-WIDTH:], None)
        self._by_start.put(index, None)

    def _visible(self, start_from: int) -> int:
        return max(start_from, self.marks.get(_LATEST, _BEGINNING) - self.retention_ms + 1)

    def _bounds(self, key: str, start_from: int, start_to: int) -> tuple[bytes, bytes]:
        prefix = terminate(encode_key(self.name, key))
        return prefix + pack_time(self._visible(start_from)), after(prefix + pack_time(start_to))

    def _index_bounds(self, start_from: int, start_to: int) -> tuple[bytes, bytes]:
        return pack_time(self._visible(start_from)), after(pack_time(start_to))

    def _entries(self, key: str, rows: Iterator[tuple[bytes, Stamped[V]]]) -> Iterator[WindowEntry[V]]:
        for row, entry_row in rows:
            yield WindowEntry(key, unpack_time(row, len(row) - 2 * WIDTH), entry_row.value, entry_row.timestamp)

    def _entries_by_index(self, index: Iterator[tuple[bytes, bytes]]) -> Iterator[WindowEntry[V]]:
        for row, _ in index:
            start, rest = row[:WIDTH], row[WIDTH:]
            entry_row = self._rows.get(rest[:-WIDTH] + start + rest[-WIDTH:])
            assert entry_row is not None, f"store {self.name}: an index row without its entry"
            yield WindowEntry(split_text(rest)[0], unpack_time(start), entry_row.value, entry_row.timestamp)

    def _key_range(
        self, key_from: str | None, key_to: str | None, start_from: int, start_to: int
    ) -> list[WindowEntry[V]]:
        low, high = text_bounds(self.name, key_from, key_to)
        visible = self._visible(start_from)
        entries: list[WindowEntry[V]] = []
        for row, entry_row in self._rows.scan(low, high):
            key, at = split_text(row)
            start = unpack_time(row, at)
            if visible <= start <= start_to:
                entries.append(WindowEntry(key, start, entry_row.value, entry_row.timestamp))
        return sorted(entries, key=lambda entry: (entry.start, entry.key.encode()))
