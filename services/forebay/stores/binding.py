"""How declared stores get their rows in a task: one binder per task, the same for every kind of store."""

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
from forebay.stores.copied import CopiedRows
from forebay.stores.keyed import MARK, keyed_class
from forebay.stores.layout import KeyPlace
from forebay.stores.materialized import Materialized
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
    """Numbers a store keeps of itself (its latest time, a counter): rows like any other, undone like any other."""

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
    """A declared store: a class attribute of a processor until `bind` gives the store of a task.

    Args:
        name: names the changelog topic: `<application>-<name>-changelog`; a Materialized says how the store is kept.
        value: the record held by it, or another format (see `forebay.formats`).
    """

    row_value = RowValue.PLAIN
    kind = "store"
    """Recorded with the store's rows (see `forebay.stores.kinds`), with the values of the settings named next."""
    fixed: tuple[str, ...] = ()
    """Settings that can't change once there are rows."""
    limits: tuple[str, ...] = ()
    """Settings that can: `adapt` makes rows written under another value fit."""
    key_places: Mapping[str, KeyPlace] = MappingProxyType({})
    """By kind of row: where its key stands. Rows of a store without them can't be spread over other tasks."""
    _key_format: Format[Any] | None = None
    _key_mark = MARK
    _canonical: Callable[[V], V] | None = None
    key_identity: Identity = None
    """What is recorded of the encoding of its keys, if that is not only a format's (`forebay.formats.identities`)."""
    windows = ""
    """Kind of the windows of its rows, which are recorded with them; "": any."""
    is_global = False
    source = ""
    """Topic of a global table's rows."""
    """Whether every task has all of its rows: a global table's."""

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
        """Return a store of the same declaration that works on a task's rows."""
        # A copy: the declaration is a class attribute, which all tasks of the process share.
        bound = copy.copy(self)
        if self._key_format is not None:
            bound.__class__ = keyed_class(type(self))
        bound._canonical = canonical_of(codec)
        bound._open(task, codec)
        return bound

    def with_keys(self, key: type[Any] | Format[Any]) -> Self:
        """Return a store of the same declaration with keys of a format, besides texts.

        A processor in a topology needs it only for keys of another format than its stream's. Ranges are in the order
        of the format: numbers as numbers, records field by field. Texts come behind them.
        """
        copied = copy.copy(self)
        copied._key_format = format_of(key)
        return copied

    def with_row_texts(self) -> Self:
        """Return the store with its keys as the texts that its rows have."""
        copied = copy.copy(self)
        copied._key_format = None
        return copied

    def of_table(self, key: Format[Any]) -> Self:
        """Return a bound store of a table's rows with keys of the table's format."""
        copied = self.with_keys(key)
        copied.__class__ = keyed_class(type(self))
        copied._key_mark = ""
        return copied

    @property
    def key_format(self) -> Format[Any] | None:
        """The format of keys that are not texts; None: all keys are texts."""
        return self._key_format

    def with_read_back(self, function: Callable[..., V]) -> Callable[..., V]:
        """Return `function` with results as the store reads them back.

        What is passed on then equals what a later get returns, also after a restart.
        """
        if self._canonical is None:
            return function

        def read_back(*arguments: Any) -> V:
            result = function(*arguments)
            return result if result is None else self._read_back(result)

        return read_back

    def adapt(self) -> None:
        """Make rows that were written under other `limits` fit the declared ones."""

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
    """Return a duration in ms. Raises ValueError if it is below `least` (ms) or no duration, with store and remedy."""
    try:
        ms = ms_of(duration)
    except ValueError as error:
        raise ValueError(f"store {store}: {what}: {error}") from None
    if ms < least:
        raise ValueError(f"store {store}: {what} is {ms} ms; specify at least {least} ms")
    return ms
