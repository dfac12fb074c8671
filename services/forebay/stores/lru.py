"""The LRU store of a task: a key-value store with a limited number of entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, Store, TaskStores
from forebay.stores.keys import encode_key, pack_time, unpack_time
from forebay.stores.puts import KeyPuts
from forebay.stores.rows import Rows
from forebay.stores.scans import KeyOrderReads
from forebay.stores.values import BytesCodec, NumberCodec

V = TypeVar("V")

_SIZE = b"size"
_USES = b"uses"
_FIRST = b"first-use"


class LruStore(Store[V], KeyOrderReads[V], KeyPuts[V]):
    """A key-value store that evicts the least recently used entry when it exceeds `max_entries`.

    `get` and `put` use a key; range reads do not. The order of use is part of the state, so that a restarted task
    evicts the same entries. A `get` therefore writes, unless the key was also the last one used.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
        max_entries: Maximum number of entries, at least 1.
    """

    kind = "lru"
    limits = ("max_entries",)

    def __init__(self, name: str, value: type[V] | Format[V], max_entries: int) -> None:
        super().__init__(name, value)
        if max_entries < 1:
            raise ValueError(f"store {name}: max_entries is {max_entries}; specify at least 1")
        self.max_entries = max_entries
        self.evicted_total = 0
        self._rows: Rows[V] = self._unbound()
        self._used: Rows[int] = self._unbound()
        self._by_use: Rows[bytes] = self._unbound()
        self._marks: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, codec)
        self._used = task.internal(self.name, "used", NumberCodec())
        self._by_use = task.internal(self.name, "use", BytesCodec())
        self._marks = task.marks(self.name)

    def get(self, key: str) -> V | None:
        """Return the value of `key`, or None."""
        encoded = encode_key(self.name, key)
        value = self._rows.get(encoded)
        if value is not None:
            self._use(encoded)
        return value

    def put(self, key: str, value: V | None) -> None:
        """Set the value of `key`, and evict an entry if the store is full. None deletes the key."""
        encoded = encode_key(self.name, key)
        if value is None:
            self._remove(encoded)
            return
        self._check_value(value)
        self.evicted_total += self._put(encoded, value)

    def restore(self, key: str, value: V | None) -> None:
        """Put a record of the changelog. Evictions that it causes are not counted."""
        encoded = encode_key(self.name, key)
        if value is None:
            self._remove(encoded)
        else:
            self._put(encoded, value)

    def delete(self, key: str) -> V | None:
        """Delete `key`. Return the value that it had, or None."""
        encoded = encode_key(self.name, key)
        previous = self._rows.get(encoded)
        self._remove(encoded)
        return previous

    def adapt(self) -> None:
        for _ in range(self._marks.get(_SIZE, 0) - self.max_entries):
            self._remove(self._oldest())

    def approximate_num_entries(self) -> int:
        """Return the exact number of entries."""
        return self._marks.get(_SIZE, 0)

    def _scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return self._rows.scan(start, end)

    def _scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return self._rows.scan_reverse(start, end)

    def _put(self, key: bytes, value: V) -> int:
        evicted = 0
        if self._rows.get(key) is None:
            # The size is a mark, because counting the rows at each put would read all of them.
            size = self._marks.get(_SIZE, 0)
            if size >= self.max_entries:
                self._remove(self._oldest())
                evicted, size = 1, size - 1
            self._marks.set(_SIZE, size + 1)
        self._rows.put(key, value)
        self._use(key)
        return evicted

    def _oldest(self) -> bytes:
        """Return the least recently used key. Uses are numbered, and all uses before the mark were deleted."""
        # Scan ranges of increasing width, because the cost of a scan is the number of changed rows in its range,
        # including deleted ones.
        start, width = self._marks.get(_FIRST, 0), 1
        while True:
            row = next(self._by_use.scan(pack_time(start), pack_time(start + width)), None)
            if row is not None:
                self._marks.set(_FIRST, unpack_time(row[0]))
                return row[1]
            start, width = start + width, 4 * width

    def _use(self, key: bytes) -> None:
        uses, last = self._marks.get(_USES, 0), self._used.get(key)
        if last is not None:
            # If the key was also the last one used, write nothing. Repeated reads of one key are therefore cheap.
            if last == uses:
                return
            self._by_use.put(pack_time(last), None)
        self._marks.set(_USES, uses + 1)
        self._used.put(key, uses + 1)
        self._by_use.put(pack_time(uses + 1), key)

    def _remove(self, key: bytes) -> None:
        last = self._used.get(key)
        if last is None:
            return
        self._rows.put(key, None)
        self._used.put(key, None)
        self._by_use.put(pack_time(last), None)
        self._marks.set(_SIZE, self._marks.get(_SIZE, 0) - 1)
