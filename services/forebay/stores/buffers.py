"""Buffers of suppress and joins, which release records in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, RowValue, Store, TaskStores
from forebay.stores.keys import FOREVER, WIDTH, after, encode_key, pack_time, split_text, terminate, unpack_time
from forebay.stores.layout import BEHIND_A_TIME, OWN
from forebay.stores.rows import Rows
from forebay.stores.values import Held, HeldCodec, NumberCodec, Stamped, StampedCodec
from forebay.time.base import Window

V = TypeVar("V")

_FIRST = b"first-time"
_PUTS = b"puts"
_STREAM_TIME = b"stream-time"
_RECORDS = b"records"
_BYTES = b"bytes"
_NO_WINDOW = Window(-1, -1)

RECORD_BYTES = 100
"""Bytes that a buffered record counts in addition to its key and value, about as many as in Kafka Streams."""


class Buffered(NamedTuple, Generic[V]):
    """A buffered record. The buffer is sorted by `time` (ms)."""

    time: int
    key: str
    value: V


class JoinBuffer(Store[V]):
    """A buffer of records, sorted by time, key and order of appending.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
    """

    kind = "join-buffer"
    key_places = MappingProxyType({OWN: BEHIND_A_TIME})

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        super().__init__(name, value)
        self._rows: Rows[V] = self._unbound()
        self._marks: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, codec)
        self._marks = task.marks(self.name)

    @property
    def stream_time(self) -> int:
        """Largest time that was passed to `advance`, in ms; -1 before the first call."""
        return self._marks.get(_STREAM_TIME)

    def advance(self, time: int) -> int:
        """Advance the buffer's stream time to `time`, unless it is later already. Return the stream time."""
        now = self.stream_time
        if time > now:
            self._marks.set(_STREAM_TIME, time)
            return time
        return now

    def append(self, time: int, key: str, value: V) -> None:
        """Add a record."""
        self._check_value(value)
        number = self._marks.get(_PUTS, 0)
        self._marks.set(_PUTS, number + 1)
        self._rows.put(pack_time(time) + terminate(encode_key(self.name, key)) + pack_time(number), value)
        # A late record may be earlier than the first time that `release` has set.
        if time < self._marks.get(_FIRST, FOREVER):
            self._marks.set(_FIRST, time)

    def first_time(self) -> int | None:
        """Return the time of the first record, in ms, or None if the buffer is empty."""
        return _first_time(self._rows, self._marks)

    def all(self) -> Iterator[Buffered[V]]:
        """Return all records, in order."""
        for row, value in self._rows.scan(b"", None):
            yield Buffered(unpack_time(row), split_text(row, WIDTH)[0], value)

    def remove(self, time: int, key: str) -> None:
        """Delete the records of `key` with exactly this time."""
        prefix = pack_time(time) + terminate(encode_key(self.name, key))
        # Use a list, because the loop deletes rows that the scan would read.
        for row, _ in list(self._rows.scan(prefix, after(prefix))):
            self._rows.put(row, None)

    def release(self, time: int) -> list[Buffered[V]]:
        """Remove and return the records up to `time` (inclusive), in order."""
        first = self._marks.get(_FIRST, FOREVER)
        if time < first:
            return []
        # The next record may be later than this. `first_time` searches for it when it is called.
        self._marks.set(_FIRST, time + 1)
        released: list[Buffered[V]] = []
        for row, value in list(self._rows.scan(pack_time(first), after(pack_time(time)))):
            self._rows.put(row, None)
            released.append(Buffered(unpack_time(row), split_text(row, WIDTH)[0], value))
        return released


class Suppressed(NamedTuple, Generic[V]):
    """A buffered update: the newest value of a key and window, with its timestamp in ms. None: there is no window."""

    key: str
    window: Window | None
    value: V | None
    timestamp: int


class SuppressBuffer(Store[V]):
    """A buffer of the newest update per key and window, sorted by the time with which the key was first buffered.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
    """

    row_value = RowValue.STAMPED_HELD
    kind = "suppress-buffer"

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        super().__init__(name, value)
        self._codec: Codec[Stamped[Held[V]]] = self._unbound()
        self._rows: Rows[Stamped[Held[V]]] = self._unbound()
        self._times: Rows[int] = self._unbound()
        self._marks: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._codec = StampedCodec(HeldCodec(codec))
        self._rows = task.rows(self.name, self._codec)
        self._times = task.internal(self.name, "times", NumberCodec())
        self._marks = task.marks(self.name)

    @property
    def marks(self) -> Marks:
        """The buffer's marks."""
        return self._marks

    def first_time(self) -> int | None:
        """Return the time of the first update, in ms, or None if the buffer is empty."""
        return _first_time(self._rows, self._marks)

    @property
    def records(self) -> int:
        """Number of buffered updates."""
        return self._marks.get(_RECORDS, 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of all buffered updates: keys, values, and RECORD_BYTES for each update."""
        return self._marks.get(_BYTES, 0)

    def put(self, time: int, key: str, window: Window | None, value: V | None, timestamp: int) -> None:
        """Buffer an update. If its key and window are already buffered, it replaces that update and keeps its time."""
        if value is not None:
            self._check_value(value)
            # The emitted value must not depend on whether the task was restarted in between. Therefore store the value
            # that a restart would read.
            value = self._read_back(value)
        ident = self._ident(key, window)
        # An update has the time of the first update of its key. This index contains that time.
        first = self._times.get(ident)
        update = Stamped(Held(value), timestamp)
        size = self._size(ident, update)
        if first is None:
            self._times.put(ident, time)
            if time < self._marks.get(_FIRST, FOREVER):
                self._marks.set(_FIRST, time)
            # Count in marks, because counting the rows at each put would read the whole buffer.
            self._count(1, size)
            first = time
        else:
            row = self._rows.get(pack_time(first) + ident)
            assert row is not None, f"store {self.name}: a time without its update"
            self._count(0, size - self._size(ident, row))
        self._rows.put(pack_time(first) + ident, update)

    def all(self) -> Iterator[Suppressed[V]]:
        """Return all updates, in order of time."""
        for row, update in self._rows.scan(b"", None):
            yield _make_suppressed(row, update)

    def discard(self, key: str, window: Window | None) -> None:
        """Delete the update of a key and window, if there is one."""
        ident = self._ident(key, window)
        first = self._times.get(ident)
        if first is not None:
            self._take(pack_time(first) + ident)

    def release(self, time: int) -> list[Suppressed[V]]:
        """Remove and return the updates with a time up to `time` (inclusive), sorted by time, key and window."""
        first = self._marks.get(_FIRST, FOREVER)
        if time < first:
            return []
        self._marks.set(_FIRST, time + 1)
        rows = [row for row, _ in self._rows.scan(pack_time(first), after(pack_time(time)))]
        return [self._take(row) for row in rows]

    def counts_after(self, time: int) -> tuple[int, int]:
        """Return the values that `records` and `size_bytes` would have after `release(time)`."""
        records, size = self.records, self.size_bytes
        first = self._marks.get(_FIRST, FOREVER)
        if first <= time:
            for row, update in self._rows.scan(pack_time(first), after(pack_time(time))):
                records, size = records - 1, size - self._size(row[WIDTH:], update)
        return records, size

    def evict(self) -> Suppressed[V]:
        """Remove and return the oldest update. Raise IndexError if the buffer is empty."""
        # Scan ranges of increasing width, because the cost of a scan is the number of changed rows in its range,
        # including deleted ones.
        start, width = self._marks.get(_FIRST, FOREVER), 1
        while start < FOREVER:
            oldest = next(self._rows.scan(pack_time(start), pack_time(start + width)), None)
            if oldest is not None:
                self._marks.set(_FIRST, unpack_time(oldest[0]))
                return self._take(oldest[0])
            start, width = start + width, 4 * width
        raise IndexError(f"store {self.name} is empty")

    def _take(self, row: bytes) -> Suppressed[V]:
        update = self._rows.get(row)
        assert update is not None
        ident = row[WIDTH:]
        self._rows.put(row, None)
        self._times.put(ident, None)
        self._count(-1, -self._size(ident, update))
        return _make_suppressed(row, update)

    def _ident(self, key: str, window: Window | None) -> bytes:
        start, end = window or _NO_WINDOW
        return terminate(encode_key(self.name, key)) + pack_time(start) + pack_time(end)

    def _size(self, ident: bytes, update: Stamped[Held[V]]) -> int:
        return RECORD_BYTES + len(ident) + len(self._codec.encode(update))

    def _count(self, records: int, size: int) -> None:
        if records:
            self._marks.set(_RECORDS, self.records + records)
        if size:
            self._marks.set(_BYTES, self.size_bytes + size)


def key_and_window(row: bytes) -> tuple[str, Window | None]:
    """Return the key and the window of a row of a SuppressBuffer. None: there is no window."""
    key, at = split_text(row, WIDTH)
    window = Window(unpack_time(row, at), unpack_time(row, at + WIDTH))
    return key, None if window == _NO_WINDOW else window


def _make_suppressed(row: bytes, update: Stamped[Held[V]]) -> Suppressed[V]:
    return Suppressed(*key_and_window(row), update.value.value, update.timestamp)


def _first_time(rows: Rows[Any], marks: Marks) -> int | None:
    """Return the time of a buffer's first row, in ms, or None if the buffer is empty. Set the mark to this time."""
    first = marks.get(_FIRST, FOREVER)
    if first == FOREVER:
        return None
    row = next(iter(rows.scan(pack_time(first), None)), None)
    earliest = FOREVER if row is None else unpack_time(row[0])
    if earliest != first:
        marks.set(_FIRST, earliest)
    return None if row is None else earliest
