"""The timestamped key-value store of a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import RowValue, Store, TaskStores
from forebay.stores.keys import encode_key
from forebay.stores.layout import OWN, WHOLE_ROW
from forebay.stores.rows import Rows
from forebay.stores.scans import KeyOrderReads
from forebay.stores.values import Stamped, StampedCodec

V = TypeVar("V")


class TimestampedKeyValueStore(Store[V], KeyOrderReads[Stamped[V]]):
    """A key-value store that stores each value with a timestamp.

    The last put wins, regardless of its timestamp. For the latest value by timestamp, use VersionedKeyValueStore.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
    """

    row_value = RowValue.STAMPED
    kind = "timestamped"
    key_places = MappingProxyType({OWN: WHOLE_ROW})

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        super().__init__(name, value)
        self._rows: Rows[Stamped[V]] = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, StampedCodec(codec))

    def get(self, key: str) -> Stamped[V] | None:
        """Return the value and timestamp of `key`, or None."""
        return self._rows.get(encode_key(self.name, key))

    def put(self, key: str, value: V | None, timestamp: int) -> None:
        """Set the value and timestamp (ms) of `key`. A value of None deletes it."""
        encoded = encode_key(self.name, key)
        if value is None:
            self._rows.put(encoded, None)
            return
        self._check_value(value)
        self._rows.put(encoded, Stamped(value, timestamp))

    def put_if_absent(self, key: str, value: V, timestamp: int) -> Stamped[V] | None:
        """Set the value of `key` unless it has one. Return the existing value, or None."""
        previous = self.get(key)
        if previous is None:
            self.put(key, value, timestamp)
        return previous

    def put_all(self, entries: Iterable[tuple[str, V | None, int]]) -> None:
        """Put each (key, value, timestamp) in order."""
        for key, value, timestamp in entries:
            self.put(key, value, timestamp)

    def delete(self, key: str) -> Stamped[V] | None:
        """Delete `key`. Return the value and timestamp that it had, or None."""
        previous = self.get(key)
        if previous is not None:
            self._rows.put(key.encode(), None)
        return previous

    def _scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, Stamped[V]]]:
        return self._rows.scan(start, end)

    def _scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, Stamped[V]]]:
        return self._rows.scan_reverse(start, end)
