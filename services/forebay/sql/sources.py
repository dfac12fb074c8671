"""Topics read as streams and tables of rows: formats, event time, headers, windows in keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.builder.keys import session_windowed
from forebay.builder.keys import windowed as windowed_format
from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.builder.topology import Topology
from forebay.codec import DecodeError
from forebay.formats import Contracts, Format
from forebay.sql.catalog import BOUNDS, ROWOFFSET, ROWPARTITION, ROWTIME, Source, Windowing
from forebay.sql.errors import SqlError
from forebay.sql.nodes import without_key
from forebay.sql.plan import Slot
from forebay.sql.read_back import check_reader
from forebay.sql.schemas.topics import key_of, value_of
from forebay.sql.types import STRING, SqlType
from forebay.sql.values import RowCodec, hint_of

Rows = Stream[Any, Any] | Table[Any, Any]


def formats_of(source: Source) -> tuple[Format[Any], Format[Any]]:
    """Return the formats of a source's keys and values."""
    return windowed(key_of(source), source.windowing), value_of(source)


_WINDOWED: dict[tuple[str, Windowing], Format[Any]] = {}


def windowed(key: Format[Any], windowing: Windowing | None) -> Format[Any]:
    """Return the format of keys with windows, the same for the same windows."""
    if windowing is None:
        return key
    place = (key.name, windowing)
    if place not in _WINDOWED:
        made = session_windowed(key) if windowing.kind == "SESSION" else windowed_format(key, windowing.size_ms)
        _WINDOWED[place] = made
    return _WINDOWED[place]


def widened(rows: Format[Any], more: Sequence[SqlType]) -> Format[Any]:
    """Return the format of rows with more columns."""

    def codec(contracts: Contracts) -> Any:
        inner = rows.codec(contracts)
        assert isinstance(inner, RowCodec)
        return inner.widened([hint_of(each) for each in more])

    return Format(f"{rows.name} and {', '.join(map(str, more))}", tuple, codec, layout=rows.layout)


class Sources:
    """Reads topics, each once, and knows which of them the file writes."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._topics: dict[str, Source] = {}
        self._written: dict[str, Source] = {}

    def write(self, target: Source) -> None:
        """Note that a query writes a topic. Raises SqlError where the topic is declared differently."""
        writer = self._written.setdefault(target.topic, target)
        if target.topic in self._topics:
            check_reader(self._topics[target.topic], writer)

    def read(self, source: Source, store: str) -> Rows:
        """Return the rows of a topic."""
        other = self._topics.setdefault(source.topic, source)
        if other is not source:
            raise SqlError(
                source.place,
                f"{source.name}: the topic {source.topic} is read as {other.name} already, and a job reads it once: "
                f"use {other.name}, with all columns, or put the statements into another file",
            )
        if source.topic in self._written:
            check_reader(source, self._written[source.topic])
        key, value = formats_of(source)
        time_of = None if source.timestamp is None else time_reader(source)
        if source.is_table:
            return self._topology.table(source.topic, value, key=key, store=store, timestamp=time_of)
        rows = self._topology.stream(source.topic, value, key=key, timestamp=time_of)
        return rows if source.keys else Stream(rows.graph, rows.graph.add(without_key(rows.node)))


def time_reader(source: Source) -> Callable[[Any], int]:
    """Return what gives a row's event time in ms."""
    assert source.timestamp is not None
    name, pattern = source.timestamp
    at = next((n for n, each in enumerate(source.values) if each.name == name), None)
    if at is None:
        raise TypeError(f"TIMESTAMP names the key column {name}: give a column of the value")
    if source.values[at].type == STRING:
        from forebay.sql.datetimes.read import parser  # noqa: PLC0415 (only texts need it)

        parse = parser(pattern)
        return lambda row: _checked(name, None if row[at] is None else parse(row[at]))
    return lambda row: _checked(name, row[at])


def _checked(name: str, value: Any) -> int:
    if value is None or value < 0:
        raise DecodeError(f"the column {name} holds the event time, but it is {value}")
    return int(value)


def row_maker(source: Source, slots: Sequence[Slot], *, windowed: bool) -> Callable[[Any, Any, int, Any], Any]:
    """Return what makes the columns a statement needs of key, value, timestamp and context."""
    keys = {each.name: at for at, each in enumerate(source.keys)}
    values = {each.name: at for at, each in enumerate(source.values)}
    headers = {each.column: each.name for each in source.headers}
    readers: list[Callable[[Any, Any, int, Any], Any]] = []
    for slot in slots:
        name = slot.name
        if name in values:
            readers.append(lambda k, v, t, c, at=values[name]: v[at])  # type: ignore[misc]
        elif name in keys:
            readers.append(_key_column(keys[name], windowed=windowed))
        elif name in headers:
            readers.append(_header(headers[name]))
        else:
            readers.append(_PSEUDO[name])
    if [slot.name for slot in slots] == [each.name for each in source.values]:
        return lambda k, v, t, c: v
    return lambda k, v, t, c: tuple([read(k, v, t, c) for read in readers])


def _key_column(at: int, *, windowed: bool) -> Callable[[Any, Any, int, Any], Any]:
    if windowed:
        return lambda k, v, t, c: None if k is None else k.key[at]
    return lambda k, v, t, c: None if k is None else k[at]


def _header(name: str) -> Callable[[Any, Any, int, Any], Any]:
    if not name:
        return lambda k, v, t, c: tuple((each, data) for each, data in c.headers)
    return lambda k, v, t, c: next((data for each, data in reversed(c.headers) if each == name), None)


def _bound(at: int) -> Callable[[Any, Any, int, Any], Any]:
    return lambda k, v, t, c: k.window[at]


_PSEUDO: dict[str, Callable[[Any, Any, int, Any], Any]] = {
    ROWTIME: lambda k, v, t, c: t,
    ROWPARTITION: lambda k, v, t, c: None if c is None else c.partition,
    ROWOFFSET: lambda k, v, t, c: None if c is None else c.offset,
    **{name: _bound(at) for at, name in enumerate(BOUNDS)},
}
