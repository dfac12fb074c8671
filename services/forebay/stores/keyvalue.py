"""The key-value store of a task."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from forebay.records import check_record_type
from forebay.stores.binding import RowValue
from forebay.stores.rows import Rows
from forebay.stores.table import prefix_end

V = TypeVar("V")

log = logging.getLogger(__name__)


class KeyValueStore(Generic[V]):
    """A key-value store, declared as a processor's class attribute.

    Keys are strings, ordered by their UTF-8 bytes. Values are frozen records: a changed copy counts only
    once it is put. Rules: semantics.md, "Key-value stores".

    Args:
        name: names the changelog topic: `<application>-<name>-changelog`.
        value: the frozen dataclass held under each key.
    """

    row_value = RowValue.PLAIN

    def __init__(self, name: str, value: type[V]) -> None:
        check_record_type(value)
        self.name = name
        self.value = value
        self._rows: Rows[V] | None = None

    def bind(self, rows: Rows[V]) -> KeyValueStore[V]:
        """Give a store of the same declaration that works on `rows`."""
        bound = KeyValueStore(self.name, self.value)
        bound._rows = rows
        return bound

    def get(self, key: str) -> V | None:
        """Give the value of `key`, or None."""
        return self._use().get(_encoded(key))

    def put(self, key: str, value: V | None) -> None:
        """Set `key` to `value`; None deletes it."""
        if value is not None and value.__class__ is not self.value:
            raise TypeError(f"store {self.name} holds {self.value.__name__}, not {type(value).__name__}")
        self._use().put(_encoded(key), value)

    def put_if_absent(self, key: str, value: V) -> V | None:
        """Set `key` unless it has a value; give the value found, or None."""
        previous = self.get(key)
        if previous is None:
            self.put(key, value)
        return previous

    def put_all(self, entries: Iterable[tuple[str, V | None]]) -> None:
        """Put each entry in turn."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: str) -> V | None:
        """Remove `key`; give the value it had, or None."""
        previous = self.get(key)
        if previous is not None:
            self.put(key, None)
        return previous

    def all(self) -> Iterator[tuple[str, V]]:
        """Give every entry in key order."""
        return self.range(None, None)

    def reverse_all(self) -> Iterator[tuple[str, V]]:
        """Give every entry in reverse key order."""
        return self.reverse_range(None, None)

    def range(self, start: str | None, end: str | None) -> Iterator[tuple[str, V]]:
        """Give entries with start <= key <= end (None: open) in key order."""
        low, high = self._bounds(start, end)
        return _decoded(self._use().scan(low, high))

    def reverse_range(self, start: str | None, end: str | None) -> Iterator[tuple[str, V]]:
        """Give entries with start <= key <= end (None: open) in reverse key order."""
        low, high = self._bounds(start, end)
        return _decoded(self._use().scan_reverse(low, high))

    def prefix_scan(self, prefix: str) -> Iterator[tuple[str, V]]:
        """Give entries whose key starts with `prefix`, in key order."""
        encoded = _encoded(prefix)
        return _decoded(self._use().scan(encoded, prefix_end(encoded)))

    def approximate_num_entries(self) -> int:
        """Count the entries (exactly, by walking over them)."""
        return sum(1 for _ in self.all())

    def _bounds(self, start: str | None, end: str | None) -> tuple[bytes, bytes | None]:
        if start is not None and end is not None and _encoded(start) > _encoded(end):
            log.warning("store %s: range from %r to %r is empty: from lies above to", self.name, start, end)
            return b"", b""
        return b"" if start is None else _encoded(start), None if end is None else _encoded(end) + b"\0"

    def _use(self) -> Rows[V]:
        if self._rows is None:
            raise RuntimeError(f"store {self.name} is not bound: run the processor in a job or in a TestDriver")
        return self._rows


def _encoded(key: str) -> bytes:
    if key is None:
        raise TypeError("a store's key can't be null")
    return key.encode()


def _decoded(rows: Iterator[tuple[bytes, V]]) -> Iterator[tuple[str, V]]:
    return ((key.decode(), value) for key, value in rows)
