"""The key-value store of a task."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Store, TaskStores
from forebay.stores.keys import encode_key
from forebay.stores.layout import OWN, WHOLE_ROW
from forebay.stores.puts import KeyPuts
from forebay.stores.rows import Rows
from forebay.stores.scans import KeyOrderReads

V = TypeVar("V")


class KeyValueStore(Store[V], KeyOrderReads[V], KeyPuts[V]):
    """A store with one value per key. Declare it as a class attribute of a processor.

    Keys are strings, sorted by their UTF-8 bytes. Values are frozen records: to change one, put a changed copy.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the values.
    """

    kind = "key-value"
    key_places = MappingProxyType({OWN: WHOLE_ROW})

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        super().__init__(name, value)
        self._rows: Rows[V] = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, codec)

    def get(self, key: str) -> V | None:
        """Return the value of `key`, or None."""
        return self._rows.get(key.encode() if key.__class__ is str else encode_key(self.name, key))

    def put(self, key: str, value: V | None) -> None:
        """Set the value of `key`. None deletes it."""
        if value is not None:
            self._check_value(value)
        self._rows.put(key.encode() if key.__class__ is str else encode_key(self.name, key), value)

    def delete(self, key: str) -> V | None:
        """Delete `key`. Return the value that it had, or None."""
        previous = self.get(key)
        if previous is not None:
            self.put(key, None)
        return previous

    def _scan(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return self._rows.scan(start, end)

    def _scan_reverse(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, V]]:
        return self._rows.scan_reverse(start, end)
