"""Stores of state variables and timers.

A row's key consists of the bytes of a grouping key and, in lists and maps, an element's number or a map key.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, Self

from forebay.codec import Codec
from forebay.formats import BYTES, Format
from forebay.stores.binding import Clock, Marks, Store, TaskStores
from forebay.stores.keys import FOREVER, WIDTH, after, pack_time, terminate, unpack_time
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.layout import BEHIND_A_TIME, FIRST_PART, OWN, REST_BEHIND_A_TIME, WHOLE_ROW
from forebay.stores.rows import Rows
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.values import PRESENT, BytesCodec, Stamped

_ELEMENTS = b"puts"
_FIRST = b"first-due"
_TIMER_OFFSET = 1 << 63


class Shape(StrEnum):
    """The structure that a state variable has for each grouping key."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"


class StateRows(Protocol):
    """The rows of a state variable."""

    def row(self, key: bytes) -> Any:
        """Return the value of a row, or None."""
        ...

    def put_row(self, key: bytes, value: Any) -> None:
        """Set the value of a row, or delete the row if the value is None."""
        ...

    def rows_of(self, prefix: bytes) -> Iterator[tuple[bytes, Any]]:
        """Return the rows whose keys start with `prefix`, in key order."""
        ...

    def next_number(self) -> int:
        """Return a number that no element of the store has had before."""
        ...


class _RowTexts:
    """Mixin of stores whose rows begin with the row text of the grouping key, for keys of all formats.

    A rescale can therefore compute the task of a row's key.
    """

    def with_keys(self, key: object) -> Self:
        return self

    def of_table(self, key: object) -> Self:
        return self


class StateStore(_RowTexts, KeyValueStore[Any]):
    """A state variable without a time to live, with one row for each value, list element or map entry."""

    kind = "state"
    fixed = ("shape",)

    def __init__(self, name: str, value: Format[Any], shape: Shape) -> None:
        super().__init__(name, value)
        self.shape = shape
        self.key_places = MappingProxyType({OWN: WHOLE_ROW if shape is Shape.VALUE else FIRST_PART})
        self._elements: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[Any]) -> None:
        super()._open(task, codec)
        if self.shape is Shape.LIST:
            self._elements = task.marks(self.name)

    def row(self, key: bytes) -> Any:
        return self._rows.get(key)

    def put_row(self, key: bytes, value: Any) -> None:
        self._rows.put(key, value)

    def rows_of(self, prefix: bytes) -> Iterator[tuple[bytes, Any]]:
        return self._rows.scan(prefix, after(prefix))

    def next_number(self) -> int:
        return _take_number(self._elements)


class ExpiringStateStore(_RowTexts, TtlKeyValueStore[Any]):
    """A state variable whose values, list elements or map entries expire by the wall clock, as in Spark.

    `expire` deletes expired rows. Reads do not return an expired row that has not been deleted yet.
    """

    kind = "ttl-state"
    fixed = ("shape",)

    def __init__(self, name: str, value: Format[Any], shape: Shape, ttl_ms: int) -> None:
        super().__init__(name, value, ttl_ms)
        self.shape = shape
        is_value = shape is Shape.VALUE
        own, due = (WHOLE_ROW, REST_BEHIND_A_TIME) if is_value else (FIRST_PART, BEHIND_A_TIME)
        self.key_places = MappingProxyType({OWN: own, "due": due})

    def _open(self, task: TaskStores, codec: Codec[Any]) -> None:
        super()._open(task, codec)
        self._clock = _WallClock(task.clock)

    def row(self, key: bytes) -> Any:
        stamped = self._rows.get(key)
        return None if stamped is None or self._is_expired(stamped) else stamped.value

    def put_row(self, key: bytes, value: Any) -> None:
        if value is None:
            self._rows.put(key, None)
            return
        now = self._clock.closing_time
        if self._rows.get(key) is None:
            self._look_at(key, now + self.ttl_ms)
        self._rows.put(key, Stamped(value, now))

    def rows_of(self, prefix: bytes) -> Iterator[tuple[bytes, Any]]:
        return self._scan(prefix, after(prefix))

    def next_number(self) -> int:
        return _take_number(self._marks)


class TimerStore(_RowTexts, Store[bytes]):
    """Timers by grouping key and expiry (ms). Processing-time timers are also indexed by expiry alone."""

    kind = "timers"
    key_places = MappingProxyType({OWN: FIRST_PART, "due": REST_BEHIND_A_TIME})

    def __init__(self, name: str) -> None:
        super().__init__(name, BYTES)
        self._rows: Rows[bytes] = self._unbound()
        self._due: Rows[bytes] = self._unbound()
        self._marks: Marks = self._unbound()

    def _open(self, task: TaskStores, codec: Codec[bytes]) -> None:
        self._rows = task.rows(self.name, codec)
        self._due = task.internal(self.name, "due", BytesCodec())
        self._marks = task.marks(self.name)

    def all(self) -> Iterator[tuple[str, bytes]]:
        """Return the row of every timer. Its key is the text of the grouping key and the expiry."""
        return ((key.decode(), value) for key, value in self._rows.scan(b"", None))

    def has(self, key: bytes, expiry: int) -> bool:
        """Return whether a timer is set."""
        return self._rows.get(_timer_row(key, expiry)) is not None

    def add(self, key: bytes, expiry: int) -> None:
        """Set a timer."""
        self._rows.put(_timer_row(key, expiry), PRESENT)

    def add_due(self, key: bytes, expiry: int) -> None:
        """Add a timer to the index by expiry, so that `first_due` returns it when it is due."""
        self._due.put(pack_time(expiry) + key, PRESENT)
        if expiry < self._marks.get(_FIRST, FOREVER):
            self._marks.set(_FIRST, expiry)

    def remove(self, key: bytes, expiry: int) -> None:
        """Delete a timer."""
        self._rows.put(_timer_row(key, expiry), None)
        self._due.put(pack_time(expiry) + key, None)

    def expiries(self, key: bytes) -> list[int]:
        """Return the expiries of a grouping key's timers in ascending order."""
        prefix = terminate(key)
        return [int(row[len(prefix) :], 16) - _TIMER_OFFSET for row, _ in self._rows.scan(prefix, after(prefix))]

    def first_due(self, until: int, at_most: int) -> list[tuple[int, bytes]]:
        """Return (expiry, grouping key) of at most `at_most` timers with expiry <= `until`, earliest first."""
        if self._marks.get(_FIRST, FOREVER) > until:
            return []
        rows = self._due.scan(b"", pack_time(until + 1))
        return [(unpack_time(row), row[WIDTH:]) for _, (row, _) in zip(range(at_most), rows, strict=False)]

    def note_first(self) -> None:
        """Record the expiry of the earliest timer, so that `first_due` reads no rows until then."""
        first = next(self._due.scan(b"", None), None)
        self._marks.set(_FIRST, FOREVER if first is None else unpack_time(first[0]))


class _WallClock:
    """Clock that returns the wall clock of the current commit instead of a task's closing time."""

    def __init__(self, task: Clock) -> None:
        self._task: Any = task

    @property
    def closing_time(self) -> int:
        return int(self._task.current_system_time)


def _timer_row(key: bytes, expiry: int) -> bytes:
    return terminate(key) + b"%016x" % (expiry + _TIMER_OFFSET)


def _take_number(marks: Marks) -> int:
    number = marks.get(_ELEMENTS, 0)
    marks.set(_ELEMENTS, number + 1)
    return number
