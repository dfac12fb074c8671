"""Reading topics as streams and tables of rows, with formats, event time, headers and windowed keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from forebay.builder.keys import Windowed, session_windowed, windowed_format
from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.builder.topology import Topology, records_of_table
from forebay.codec import DecodeError
from forebay.formats import BYTES, Contracts, Format
from forebay.sql.catalog import BOUNDS, ROWOFFSET, ROWPARTITION, ROWTIME, Named, Source, Windowing
from forebay.sql.nodes import decode_node, rows_of_stream, with_times, without_key
from forebay.sql.plan import Scan, Slot
from forebay.sql.pseudo_column_rows import kept_format
from forebay.sql.read_back import check_reader
from forebay.sql.schemas.topics import key_of, value_of
from forebay.sql.types import STRING, SqlType
from forebay.sql.values import RowCodec, hint_of, row_identity

Rows = Stream[Any, Any] | Table[Any, Any]
RECORD = (ROWPARTITION, ROWOFFSET)
"""Pseudo columns that come from the record and are not part of its row."""


def formats_of(source: Source) -> tuple[Format[Any], Format[Any]]:
    """Return the formats of a source's keys and values."""
    return windowed_key(key_of(source), source.windowing), value_of(source)


_WINDOWED: dict[tuple[str, Windowing], Format[Any]] = {}


def windowed_key(key: Format[Any], windowing: Windowing | None) -> Format[Any]:
    """Return the format of windowed keys. Equal arguments return the same object."""
    if windowing is None:
        return key
    # Formats are compared by identity when rows are written, so sources with equal windows must share an object.
    place = (key.name, windowing)
    if place not in _WINDOWED:
        result = session_windowed(key) if windowing.kind == "SESSION" else windowed_format(key, windowing.size_ms)
        _WINDOWED[place] = result
    return _WINDOWED[place]


def widen_rows(rows: Format[Any], more: Sequence[SqlType]) -> Format[Any]:
    """Return the format of rows with additional columns."""

    def codec(contracts: Contracts) -> Any:
        inner = rows.codec(contracts)
        assert isinstance(inner, RowCodec)
        return inner.widen([hint_of(item) for item in more])

    name = f"{rows.name} and {', '.join(map(str, more))}"
    return Format(name, tuple, codec, layout=rows.layout, identify=row_identity(rows.layout))


class Sources:
    """Reader of topics, which reads each topic once, and knows which topics the queries write.

    Args:
        topology: The topology to which sources are added.
        scans: Scans of all queries. They determine which topics are declared more than once, and which headers and
            positions of a table's records are used. Its store contains these in addition to the values.
    """

    def __init__(self, topology: Topology, scans: Iterable[Scan]) -> None:
        self._topology = topology
        self._used: dict[Source, dict[str, None]] = {}
        for scan in scans:
            self._used.setdefault(scan.source, {}).update(dict.fromkeys(slot.name for slot in scan.slots))
        self._raw: dict[str, Stream[Any, Any]] = {}
        self._written: dict[str, Source] = {}

    def write(self, target: Source) -> None:
        """Record that a query writes a topic. Raises SqlError if a source declares the topic differently."""
        writer = self._written.setdefault(target.topic, target)
        for reader in self._readable_sources(target.topic):
            check_reader(reader, writer)

    def _readable_sources(self, topic: str) -> list[Source]:
        """Return the declared sources of a topic that queries read."""
        return [item for item in self._used if item.topic == topic and not item.is_derived]

    def columns(self, source: Source) -> Source:
        """Return a source with all columns of its rows, including those that a table stores from its records."""
        if not source.is_table or source.is_derived:
            return source
        retained = tuple(
            Named(name, kind)
            for name in self._used.get(source, ())
            if name in RECORD or any(name == header.column for header in source.headers)
            if (kind := source.type_of(name)) is not None
        )
        return replace(source, values=source.values + retained) if retained else source

    def read(self, source: Source, store: str) -> Rows:
        """Return the rows of a source's topic.

        Args:
            source: The source.
            store: Name of the store, if the source is a table.
        """
        wide = self.columns(source)
        # A job can read a topic only once. If several sources declare the topic, they share its undecoded records.
        is_shared = len(self._readable_sources(source.topic)) > 1
        is_plain = source.timestamp is None or _time_of(source) is not None
        if not is_shared and wide is source and source.is_table and is_plain:
            key, value = formats_of(source)
            return self._topology.table(source.topic, value, key=key, store=store, timestamp=_time_of(source))
        rows = self._decode(source) if is_shared else self._stream(source)
        if source.is_table:
            if wide is not source:
                slots = tuple(Slot(source.name, member.name, member.type) for member in wide.values)
                make = row_maker(source, slots, windowed=source.windowing is not None)
                kind = kept_format(wide.values, value_of(source), len(wide.values) - len(source.values))
                rows = Stream(rows.graph, rows.graph.add(rows_of_stream(rows.node, "with headers", kind, make)))
            return rows.to_table(store=store)
        return rows if source.keys else Stream(rows.graph, rows.graph.add(without_key(rows.node)))

    def _stream(self, source: Source) -> Stream[Any, Any]:
        key, value = formats_of(source)
        if source.is_table:
            records = records_of_table(self._topology, source.topic, value, key, _time_of(source))
            return self._with_event_time(records, source)
        rows = self._topology.stream(source.topic, value, key=key, timestamp=_time_of(source))
        return self._with_event_time(rows, source)

    def _with_event_time(self, rows: Stream[Any, Any], source: Source) -> Stream[Any, Any]:
        """Return the records with their event time, if it is in a key column and not in the value."""
        if source.timestamp is None or _time_of(source) is not None:
            return rows
        return _with_times(rows, source)

    def _decode(self, source: Source) -> Stream[Any, Any]:
        """Return the records of a topic that several sources declare, decoded in the formats of this source."""
        if source.topic not in self._raw:
            self._raw[source.topic] = self._topology.stream(source.topic, BYTES, key=BYTES)
        raw = self._raw[source.topic]
        rows = Stream[Any, Any](raw.graph, raw.graph.add(decode_node(raw.node, *formats_of(source))))
        return rows if source.timestamp is None else _with_times(rows, source)


def _with_times(rows: Stream[Any, Any], source: Source) -> Stream[Any, Any]:
    timed_rows = with_times(rows, time_reader(source))
    # A table applies its records by offset. No stream time decides about them, so they need no repartition.
    return Stream(rows.graph, timed_rows.node, timed_rows.is_rekeyed and not source.is_table)


def _time_of(source: Source) -> Callable[[Any], int] | None:
    """Return a function from a value to its event time, or None if the event time is not in the value."""
    if source.timestamp is None or source.timestamp[0] not in [member.name for member in source.values]:
        return None
    time_of = time_reader(source)
    return lambda value: time_of(None, value)


def time_reader(source: Source) -> Callable[[Any, Any], int]:
    """Return a function from a row's key and value to its event time (ms)."""
    assert source.timestamp is not None
    name, pattern = source.timestamp
    is_key = name in [member.name for member in source.keys]
    columns = source.keys if is_key else source.values
    at = next(n for n, member in enumerate(columns) if member.name == name)
    parse: Callable[[Any], Any] = int
    if columns[at].type == STRING:
        from forebay.sql.datetimes.read import parser  # noqa: PLC0415 (only texts need it)

        parse = parser(pattern)

    def read(key: Any, value: Any) -> int:
        row = (key.key if isinstance(key, Windowed) else key) if is_key else value
        result = None if row is None else row[at]
        return _check(name, None if result is None else parse(result))

    return read


def _check(name: str, value: Any) -> int:
    if value is None or value < 0:
        raise DecodeError(f"the column {name} holds the event time, but it is {value}")
    return int(value)


def row_maker(source: Source, slots: Sequence[Slot], *, windowed: bool) -> Callable[[Any, Any, int, Any], Any]:
    """Return a function that creates a row of the needed columns from key, value, timestamp and context."""
    keys = {member.name: at for at, member in enumerate(source.keys)}
    values = {member.name: at for at, member in enumerate(source.values)}
    headers = {header.column: header.name for header in source.headers}
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
    # In the common case, the columns are those of the value. Returning the value itself saves a copy per record.
    if [slot.name for slot in slots] == [member.name for member in source.values]:
        return lambda k, v, t, c: v
    return lambda k, v, t, c: tuple([read(k, v, t, c) for read in readers])


def _key_column(at: int, *, windowed: bool) -> Callable[[Any, Any, int, Any], Any]:
    if windowed:
        return lambda k, v, t, c: None if k is None else k.key[at]
    return lambda k, v, t, c: None if k is None else k[at]


def _header(name: str) -> Callable[[Any, Any, int, Any], Any]:
    if not name:
        return lambda k, v, t, c: tuple((item, data) for item, data in c.headers)
    # If several headers have the same name, the last one is used, as in `Headers.lastHeader` of Kafka's Java client.
    return lambda k, v, t, c: next((data for item, data in reversed(c.headers) if item == name), None)


def _bound(at: int) -> Callable[[Any, Any, int, Any], Any]:
    return lambda k, v, t, c: k.window[at]


_PSEUDO: dict[str, Callable[[Any, Any, int, Any], Any]] = {
    ROWTIME: lambda k, v, t, c: t,
    ROWPARTITION: lambda k, v, t, c: None if c is None else c.partition,
    ROWOFFSET: lambda k, v, t, c: None if c is None else c.offset,
    **{name: _bound(at) for at, name in enumerate(BOUNDS)},
}
