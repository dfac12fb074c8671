"""Store declarations, and the rows of a task to which they are bound."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar

from forebay.codec import Codec, EncodeError, canonical_of, is_frozen
from forebay.formats import Format, format_of
from forebay.formats.identities import Identity
from forebay.limits.room import Room, Rooms
from forebay.records import check_record_type
from forebay.stores.keyed import MARK, keyed_class
from forebay.stores.layout import KeyPlace
from forebay.stores.materialized import Materialized
from forebay.stores.mutable_values import CopiedRows
from forebay.stores.rows import Journal, Rows
from forebay.stores.table import Table
from forebay.stores.values import NumberCodec
from forebay.time.durations import Duration, ms_of

V = TypeVar("V")
T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")


class RowValue(Enum):
    """Layout of the values of a store's rows (see `forebay.stores.values`)."""

    PLAIN = "the value"
    STAMPED = "timestamp, value"
    HELD = "the value, or nothing"
    STAMPED_HELD = "timestamp, then the value or nothing"


class Clock(Protocol):
    """The time of a task."""

    @property
    def closing_time(self) -> int:
        """Time up to which results are final, in ms: stream time, or later on an idle topic."""
        ...


class TaskStores:
    """The rows that a task provides to its stores, with a common journal and clock.

    Args:
        cached: Number of decoded objects per store that are cached across commits.
        rooms: Record limits of the changelogs.
    """

    def __init__(
        self, table: Table, journal: Journal, clock: Clock, cached: int = 50_000, rooms: Rooms | None = None
    ) -> None:
        self.clock = clock
        self._rooms = rooms or Rooms()
        self.opened: list[Rows[Any]] = []
        self.of_store: dict[str, list[Rows[Any]]] = {}
        """A store's own rows and its internal ones."""
        self._table = table
        self._journal = journal
        self._cached = cached

    def rows(self, store: str, codec: Codec[T]) -> Rows[T]:
        """Return a store's own rows, which are written to its changelog topic."""
        return self._open(store, store, codec, self._rooms.store(store))

    def internal(self, store: str, kind: str, codec: Codec[T]) -> Rows[T]:
        """Return internal rows of a store (an index, a clock), which are written to the task's internal changelog."""
        return self._open(store, f"\x01{kind}\0{store}", codec, self._rooms.internal)

    def marks(self, store: str) -> Marks:
        """Open a store's marks."""
        return Marks(self.internal(store, "marks", NumberCodec()))

    def with_own_journal(self) -> TaskStores:
        """Return rows of the same table with another journal, so that a failed record does not undo their changes."""
        return TaskStores(self._table, Journal(), self.clock, self._cached, self._rooms)

    def _open(self, store: str, name: str, codec: Codec[T], room: Room) -> Rows[T]:
        # Logic could change an object that it put or got. That would change the row without a put, and a restart would
        # not know of it.
        kind = Rows if is_frozen(codec) else CopiedRows
        rows = kind(name, self._table, codec, self._journal, self._cached, room)
        self.opened.append(rows)
        self.of_store.setdefault(store, []).append(rows)
        return rows


class Marks:
    """Numbers that a store maintains, such as its latest time. They are rows and are rolled back like other rows."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Rows[int]) -> None:
        self._rows = rows

    def get(self, name: bytes, default: int = -1) -> int:
        """Return a mark, or `default` if it was never set."""
        value = self._rows.get(name)
        return default if value is None else value

    def set(self, name: bytes, value: int) -> None:
        """Set a mark."""
        self._rows.put(name, value)


class Store(Generic[V]):
    """A store: a declaration, for example a class attribute of a processor, or a task's store that `bind` returns.

    Args:
        name: Name of the store, or a Materialized with its options. Its changelog topic is
            `<application>-<name>-changelog`.
        value: Record type of the values, or another format (see `forebay.formats`).
    """

    row_value = RowValue.PLAIN
    kind = "store"
    """Kind, which is recorded with the store's rows (see `forebay.stores.kinds`), as are `fixed` and `limits`."""
    fixed: tuple[str, ...] = ()
    """Settings that can't change once the store has rows."""
    limits: tuple[str, ...] = ()
    """Settings that can change. `adapt` changes the existing rows accordingly."""
    key_places: Mapping[str, KeyPlace] = MappingProxyType({})
    """Position of the record key in a row's key, by kind of row. Without it, rows can't be assigned to other tasks."""
    _key_format: Format[Any] | None = None
    _key_mark = MARK
    _canonical: Callable[[V], V] | None = None
    key_identity: Identity = None
    """Identity of the encoding of its keys, if it is not that of a format (see `forebay.formats.identities`)."""
    windows = ""
    """Kind of the windows of its rows, which is recorded with them; "": any."""
    is_global = False
    """Whether it is the store of a global table, so that every task has all of its rows."""
    source = ""
    """Topic of a global table's rows."""

    def __init__(self, name: str, value: type[V] | Format[V]) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"store {name!r}: a store's name is part of its topic's name; use 1 to 200 of A-Z a-z 0-9 . _ -"
            )
        self.name = str(name)
        self.options = name if isinstance(name, Materialized) else Materialized(name)
        self.format = format_of(value)
        self.value: type[V] = self.format.type
        if self.format.is_contract:
            check_record_type(self.value)

    def bind(self, task: TaskStores, codec: Codec[V]) -> Self:
        """Return a copy of the store that is bound to a task's rows."""
        # The declaration may be a class attribute, which all tasks of the process share.
        bound = copy.copy(self)
        if self._key_format is not None:
            bound.__class__ = keyed_class(type(self))
        bound._canonical = canonical_of(codec)
        bound._open(task, codec)
        return bound

    def with_keys(self, key: type[Any] | Format[Any]) -> Self:
        """Return a copy of the store that accepts keys of a format in addition to texts.

        A processor in a topology needs this only for keys of another format than its stream's. Ranges are in the order
        of the format: numbers by value, records field by field. Texts come after them.
        """
        copied = copy.copy(self)
        copied._key_format = format_of(key)
        return copied

    def with_row_texts(self) -> Self:
        """Return a copy of the store whose keys are the row texts."""
        copied = copy.copy(self)
        copied._key_format = None
        return copied

    def of_table(self, key: Format[Any]) -> Self:
        """Return a copy of a table's bound store with keys of the table's format."""
        copied = self.with_keys(key)
        copied.__class__ = keyed_class(type(self))
        copied._key_mark = ""
        return copied

    @property
    def key_format(self) -> Format[Any] | None:
        """The format of keys that are not texts; None: all keys are texts."""
        return self._key_format

    def with_read_back(self, function: Callable[..., V]) -> Callable[..., V]:
        """Return a function that returns the results of `function` in the form in which the store reads them.

        Forwarded values then equal those that a later get returns, even after a restart.
        """
        if self._canonical is None:
            return function

        def read_back(*arguments: Any) -> V:
            result = function(*arguments)
            return result if result is None else self._read_back(result)

        return read_back

    def adapt(self) -> None:
        """Change rows that were written with other `limits` so that they fit the declared ones."""

    def _open(self, task: TaskStores, codec: Codec[V]) -> None:
        raise NotImplementedError

    def _read_back(self, value: V) -> V:
        canonical = self._canonical
        if canonical is None:
            return value
        try:
            return canonical(value)
        except EncodeError as error:
            raise EncodeError(f"store {self.name}: {error}") from error

    def _unbound(self) -> Any:
        return _Unbound(self.name)

    def _check_value(self, value: V) -> None:
        if value.__class__ is not self.value and self.value is not object:
            raise TypeError(f"store {self.name} holds {self.value.__name__}, not {type(value).__name__}")


class _Unbound:
    def __init__(self, name: str) -> None:
        self.__name = name

    def __reduce__(self) -> tuple[type[_Unbound], tuple[str]]:
        return _Unbound, (self.__name,)

    def __getattr__(self, attribute: str) -> NoReturn:
        raise RuntimeError(f"store {self.__name} is not bound: run the processor in a job or in a TestDriver")


def checked_ms(store: str, what: str, duration: Duration, least: int) -> int:
    """Return a duration in ms.

    Raises:
        ValueError: It is not a duration, or less than `least` (ms).
    """
    try:
        ms = ms_of(duration)
    except ValueError as error:
        raise ValueError(f"store {store}: {what}: {error}") from None
    if ms < least:
        raise ValueError(f"store {store}: {what} is {ms} ms; specify at least {least} ms")
    return ms
