"""Nodes that SQL needs in addition to the DSL's: rows made of key, value, time and record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.builder.keys import Windowed, reader_of_rows, writer_of_rows
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node
from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.formats import Format, no_contracts
from forebay.operators.table import Change, TableView
from forebay.processor.api import Context
from forebay.sql.values import row_format
from forebay.stores.values import Stamped
from forebay.time.base import Window

Rows = Stream[Any, Any] | Table[Any, Any]
MakeRow = Callable[[Any, Any, int, Any], Any]
"""Makes a row of key, value, timestamp in ms, and the context of the record (None of a table's row)."""


def rows_of_stream(parent: Node, name: str, into: Format[Any], make_row: MakeRow) -> Node:
    """Return the node that makes a row of each record; a null value stays one."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                value = make_row(None if key is None else of_row(key), value, timestamp, ctx)
            out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, name, parent.key, into, (parent,), make=make, gives_rows=parent.gives_rows)


def rows_of_table(parent: Node, name: str, into: Format[Any], make_row: MakeRow) -> Node:
    """Return the node that makes a row of each row of a table."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        asked = bound.sends_old(node)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            own = of_row(key)
            new = None if change.new is None else make_row(own, change.new, change.timestamp, ctx)
            old = None if change.old is None or not asked else make_row(own, change.old, change.timestamp, None)
            out(key, Change(key, new, old, change.timestamp), timestamp, ctx)

        return Made((flow,))

    def view(bound: Bound) -> TableView[Any]:
        return _Rows(bound.view(parent), of_row, make_row)

    node = Node(Kind.STEP, name, parent.key, into, (parent,), make=make, view=view, gives_rows=True)
    return node


class _Rows:
    """The rows, made when they are looked up."""

    def __init__(self, rows: TableView[Any], of_row: Callable[[str], Any], make_row: MakeRow) -> None:
        self._rows = rows
        self._of_row = of_row
        self._make_row = make_row

    def get(self, key: str) -> Stamped[Any] | None:
        row = self._rows.get(key)
        if row is None:
            return None
        return Stamped(self._make_row(self._of_row(key), row.value, row.timestamp, None), row.timestamp)


def rows_where(parent: Node, keeps: Callable[[Any, Any], bool]) -> Node:
    """Return the node that lets records of a stream through that fulfil a condition; a null value does not."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # Unlike the DSL's filter, a WHERE drops null values, because no condition is true for them.
            if value is not None and keeps(None if key is None else of_row(key), value):
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "where", parent.key, parent.value, (parent,), make=make)


def rows_under(parent: Node, key: Format[Any], key_of: Callable[[Any, Any], Any]) -> Node:
    """Return the node that gives each record a key made of it and its value (None: none)."""
    of_row, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            result = key_of(None if text is None else of_row(text), value)
            out(None if result is None else row(result), value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"key as {key}", key, parent.value, (parent,), make=make)


def under_format(parent: Node, key: Format[Any]) -> Node:
    """Return the node that gives the same keys in another format."""
    of_row, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(None if text is None else row(of_row(text)), value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"write key as {key}", key, parent.value, (parent,), make=make, gives_rows=parent.gives_rows)


def decode_node(parent: Node, key: Format[Any], value: Format[Any]) -> Node:
    """Return the node that decodes the bytes of keys and values. What they don't fit is the record's error."""
    data_of, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        # Decode here and not at the source, because each declaration of the topic reads the same bytes in its own
        # format.
        keys, values = key.codec(no_contracts), value.codec(no_contracts)

        def flow(text: Any, data: Any, timestamp: int, ctx: Context[Any]) -> None:
            own = None if text is None else row(keys.decode(data_of(text)))
            out(own, None if data is None else values.decode(data), timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"read as {value}", key, value, (parent,), make=make)


def without_key(parent: Node) -> Node:
    """Return the node that drops the keys of a stream that declares no key columns."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(None, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "no key", parent.key, parent.value, (parent,), make=make)


def in_windows(parent: Node, into: Format[Any], size_ms: int) -> Node:
    """Return the node that gives the same keys in windows of another size, as `into` writes them."""
    of_row, row = reader_of_rows(parent.key), writer_of_rows(into)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if text is not None:
                key, window = of_row(text)
                text = row(Windowed(key, Window(window.start, window.start + size_ms)))
            out(text, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"windows of {size_ms} ms", into, parent.value, (parent,), make=make)


def in_value_format(parent: Node, into: Format[Any]) -> Node:
    """Return the node that gives the same rows in another format."""

    def make(bound: Bound, out: Flow) -> Made:
        return Made((out,))

    return Node(Kind.STEP, f"write as {into}", parent.key, into, (parent,), make=make, gives_rows=parent.gives_rows)


def null_of_single(parent: Node) -> Node:
    """Return the node that gives a row whose only column is null as a null value."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # Such bytes can't say null, so ksqlDB writes a null record for the row. A reader takes it as a deletion.
            out(key, None if value == (None,) else value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "a null as no value", parent.key, parent.value, (parent,), make=make)


def timestamp_node(parent: Node, time_of: Callable[[Any, Any], int]) -> Node:
    """Return the node that gives each record the time its key or value holds. Its errors refuse the record."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                timestamp = time_of(None if key is None else of_row(key), value)
            out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "event time", parent.key, parent.value, (parent,), make=make, gives_rows=parent.gives_rows)


def map_rows(rows: Rows, name: str, into: Sequence[Any], make: Callable[..., Any], names: Sequence[str] = ()) -> Rows:
    """Return other rows for those of a stream or a table.

    Args:
        into: types of the columns.
        names: of the columns, if a store may hold them.
    """
    kind = row_format(tuple(into), tuple(names))
    if isinstance(rows, Stream):
        return Stream(rows.graph, rows.graph.add(rows_of_stream(rows.node, name, kind, make)), rows.is_rekeyed)
    return Table(rows.graph, rows.graph.add(rows_of_table(rows.node, name, kind, make)))


def is_windowed(rows: Rows) -> bool:
    """Return whether keys have windows."""
    return "windowed" in rows.node.key.name
