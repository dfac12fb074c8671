"""The list-value store of a task, which stores all values of a key in order."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TypeVar

from forebay.codec import Codec
from forebay.formats import Format
from forebay.stores.binding import Marks, Store, TaskStores
from forebay.stores.keys import after, encode_key, pack_time, split_text, terminate
from forebay.stores.layout import FIRST_PART, OWN
from forebay.stores.rows import Rows

V = TypeVar("V")

_PUTS = b"puts"


class ListValueStore(Store[V]):
    """A store with a list of values per key.

    Each value is a separate row, so that the cost of an append does not depend on the length of the list.

    Args:
        name: Name of the store. Its changelog topic is `<application>-<name>-changelog`.
        value: Type of the lists' elements.
    """

    kind = "list-value"
    key_places = MappingProxyType({OWN: FIRST_PART})

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        super().__init__(name, value)
        self._rows: Rows[V] = self._unbound()
        self._marks: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        self._rows = task.rows(self.name, codec)
        self._marks = task.marks(self.name)

    def put(self, key: str, value: V | None) -> None:
        """Append a value to the list of `key`. None deletes the list."""
        prefix = terminate(encode_key(self.name, key))
        if value is None:
            for row, _ in list(self._rows.scan(prefix, after(prefix))):
                self._rows.put(row, None)
            return
        self._check_value(value)
        # One counter for all lists, so that an append does not have to read the list.
        number = self._marks.get(_PUTS, 0)
        self._marks.set(_PUTS, number + 1)
        self._rows.put(prefix + pack_time(number), value)

    def get(self, key: str) -> tuple[V, ...]:
        """Return the list of `key`; empty if the store has no such key."""
        prefix = terminate(encode_key(self.name, key))
        return tuple(value for _, value in self._rows.scan(prefix, after(prefix)))

    def all(self) -> Iterator[tuple[str, V]]:
        """Return each value with its key, in key order and then in the order in which they were put."""
        return ((split_text(row)[0], value) for row, value in self._rows.scan(b"", None))

    def approximate_num_entries(self) -> int:
        """Return the exact number of keys that have a list. This scans the store."""
        return len({key for key, _ in self.all()})
