"""The TTL store of a task: a key-value store whose entries expire."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Clock, Marks, RowValue, Store, TaskStores, checked_ms
from forebay.stores.keys import FOREVER, WIDTH, encode_key, pack_time, unpack_time
from forebay.stores.layout import OWN, REST_BEHIND_A_TIME, WHOLE_ROW
from forebay.stores.puts import KeyPuts
from forebay.stores.rows import Rows
from forebay.stores.scans import KeyOrderReads
from forebay.stores.values import PRESENT, BytesCodec, Stamped, StampedCodec
from forebay.time.durations import Duration

V = TypeVar("V")

EXPIRED_AT_ONCE = 1_000

_FIRST = b"first-due"


class TtlKeyValueStore(Store[V], KeyOrderReads[V], KeyPuts[V]):
    """A key-value store whose entries expire `ttl_ms` after they were last written.

    Time is the task's closing time. An entry that was written at time T expires at T + ttl_ms; from then on, no read
    returns it. Later puts, or `expire`, delete the rows, a limited number at a time.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        ttl_ms: Time to live, in ms or as a timedelta; at least 1 ms.
    """

    row_value = RowValue.STAMPED
    kind = "ttl"
    key_places = MappingProxyType({OWN: WHOLE_ROW, "due": REST_BEHIND_A_TIME})
    limits = ("ttl_ms",)

    def __init__(self, name: str, value: type[V] | Format[V], ttl_ms: Duration) -> None:
        super().__init__(name, value)
        self.ttl_ms = checked_ms(name, "ttl_ms", ttl_ms, 1)
        self._clock: Clock = self._unbound()
        self._rows: Rows[Stamped[V]] = self._unbound()
        self._due: Rows[bytes] = self._unbound()
        self._marks: Marks = self._unbound()
        self._is_looked_through = False

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._clock = task.clock
        self._rows = task.rows(self.name, StampedCodec(codec))
        self._due = task.internal(self.name, "due", BytesCodec())
        self._marks = task.marks(self.name)
        self._is_looked_through = False

    def get(self, key: str) -> V | None:
        """Return the value of `key`, or None."""
        row = self._rows.get(encode_key(self.name, key))
        return None if row is None or self._is_expired(row) else row.value

    def put(self, key: str, value: V | None) -> None:
        """Set the value of `key` for the next `ttl_ms`. None deletes it."""
        encoded = encode_key(self.name, key)
        self.expire()
        if value is None:
            self._rows.put(encoded, None)
            return
        self._check_value(value)
        now = self._clock.closing_time
        # An entry that is put again keeps its index row. `expire` reads the index row and replaces it by one at the new
        # time, so that a put of an existing key writes only one row. In an earlier release, an expired entry could lose
        # its index row.
        existing = self._rows.get(encoded)
        if existing is None or self._is_expired(existing):
            self._look_at(encoded, now + self.ttl_ms)
        self._rows.put(encoded, Stamped(value, now))

    def delete(self, key: str) -> V | None:
        """Delete `key`. Return the value that it had, or None."""
        previous = self.get(key)
        if self._rows.get(key.encode()) is not None:
            self._rows.put(key.encode(), None)
        return previous

    def expire(self, at_most: int = EXPIRED_AT_ONCE) -> int:
        """Delete expired entries. Check at most `at_most` entries, and return how many were deleted."""
        now, gone, start = self._clock.closing_time, 0, self._marks.get(_FIRST, FOREVER)
        if not self._is_looked_through:
            # Release 0.2 could leave entries in the index that are due before its mark.
            self._is_looked_through, start = True, 0
        if start > now:
            return 0
        rows = self._due.scan(pack_time(start), pack_time(now + 1))
        due = [row for _, (row, _) in zip(range(at_most), rows, strict=False)]
        for row in due:
            key = row[WIDTH:]
            entry = self._rows.get(key)
            self._due.put(row, None)
            # The entry was deleted. Its index row remained until now, so that a delete writes only one row.
            if entry is None:
                continue
            if self._is_expired(entry):
                self._rows.put(key, None)
                gone += 1
            else:
                self._look_at(key, entry.timestamp + self.ttl_ms)
        if len(due) < at_most:
            start = now + 1
        elif due:
            start = unpack_time(due[-1])  # more entries may be due, from this time on
        self._marks.set(_FIRST, self._first_from(start, now + self.ttl_ms))
        return gone

    def adapt(self) -> None:
        # With a shorter time to live, entries are due before the times of their index rows.
        for key, row in self._rows.scan(b"", None):
            self._look_at(key, row.timestamp + self.ttl_ms)

    def next_expiry(self) -> int | None:
        """Return a time (ms) before which no entry expires, or None if the store is empty.

        Schedule a timer at this time to delete expired entries of an idle store.
        """
        first = self._marks.get(_FIRST, FOREVER)
        return None if first == FOREVER else first

    def _first_from(self, start: int, end: int) -> int:
        """Return the first due time in [start, end], or FOREVER.

        It scans ranges of increasing width, because a scan costs as much as there are changed rows in its range.
        """
        width = 1
        while start <= end:
            first = next(self._due.scan(pack_time(start), pack_time(start + width)), None)
            if first is not None:
                return unpack_time(first[0])
            start, width = start + width, 4 * width
        return FOREVER

    def _look_at(self, key: bytes, due: int) -> None:
        self._due.put(pack_time(due) + key, PRESENT)
        if due < self._marks.get(_FIRST, FOREVER):
            self._marks.set(_FIRST, due)

    def _is_expired(self, entry: Stamped[V]) -> bool:
        return entry.timestamp + self.ttl_ms <= self._clock.closing_time

    def _scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return ((k, row.value) for k, row in self._rows.scan(start, end) if not self._is_expired(row))

    def _scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return ((k, row.value) for k, row in self._rows.scan_reverse(start, end) if not self._is_expired(row))
