"""Nodes that SQL needs in addition to those of the DSL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from forebay.builder.keys import Windowed, reader_of_rows, writer_of_rows
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node
from forebay.builder.rows import table as stored_table
from forebay.builder.rows import to_stream
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
"""Function of key, value, timestamp (ms) and context that returns a row. The context is None for rows of a table."""


def rows_of_stream(parent: Node, name: str, into: Format[Any], make_row: MakeRow) -> Node:
    """Return a node that converts each record of a stream to a row. Null values remain null."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                value = make_row(None if key is None else of_row(key), value, timestamp, ctx)
            out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, name, parent.key, into, (parent,), make=make, gives_rows=parent.gives_rows)


def stream_with_rows(table: Table[Any, Any], name: str, *, is_topic: bool = False) -> Stream[Any, Any]:
    """Return a table's changes as a stream, which begins with its rows if it is added to a table that has some.

    Args:
        name: Name of the store that gets the rows, or of the query whose topic gets them.
    """
    return Stream(table.graph, table.graph.add(to_stream(table.node, [name], fills_topic=is_topic)))


def store_versions(table: Table[Any, Any], store: str, history_ms: int) -> None:
    """Store the versions of a table's rows."""
    stream = stream_with_rows(table, store)
    table.graph.add(stored_table(stream.node, store, history_ms, is_copy=True))


def rows_of_table(parent: Node, name: str, into: Format[Any], make_row: MakeRow) -> Node:
    """Return a node that converts each row of a table to another row."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        asked = bound.sends_old(node)

        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            own = of_row(key)
            new = None if change.new is None else make_row(own, change.new, change.timestamp, ctx)
            # ROWTIME of the old row, which aggregates subtract, is the time of the old row.
            before = change.timestamp if change.old_timestamp is None else change.old_timestamp
            old = bound.former(make_row, own, change.old, before, None) if asked and change.old is not None else None
            out(key, change.with_values(new, old), timestamp, ctx)

        return Made((flow,))

    def view(bound: Bound) -> TableView[Any]:
        return _Rows(bound.view(parent), of_row, make_row)

    node = Node(Kind.STEP, name, parent.key, into, (parent,), make=make, view=view, gives_rows=True)
    return node


class _Rows:
    """View of a table that converts a row when it is looked up."""

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
    """Return a node that forwards the records of a stream for which a condition is true. It drops null values."""
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # Unlike the DSL's filter, a WHERE drops null values, because no condition is true for them.
            if value is not None and keeps(None if key is None else of_row(key), value):
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "where", parent.key, parent.value, (parent,), make=make)


def rows_under(parent: Node, key: Format[Any], key_of: Callable[[Any, Any], Any]) -> Node:
    """Return a node that sets each record's key to a function of its key and value. A result of None is no key."""
    of_row, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            result = key_of(None if text is None else of_row(text), value)
            out(None if result is None else row(result), value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"key as {key}", key, parent.value, (parent,), make=make)


def under_format(parent: Node, key: Format[Any]) -> Node:
    """Return a node that changes the format of keys."""
    of_row, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(None if text is None else row(of_row(text)), value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"write key as {key}", key, parent.value, (parent,), make=make, gives_rows=parent.gives_rows)


def decode_node(parent: Node, key: Format[Any], value: Format[Any]) -> Node:
    """Return a node that decodes the bytes of keys and values. A record that can't be decoded fails."""
    data_of, row = reader_of_rows(parent.key), writer_of_rows(key)

    def make(bound: Bound, out: Flow) -> Made:
        # Decode here and not at the source, because each declaration of the topic decodes the same bytes in another
        # format.
        keys, values = key.codec(no_contracts), value.codec(no_contracts)

        def flow(text: Any, data: Any, timestamp: int, ctx: Context[Any]) -> None:
            own = None if text is None else row(keys.decode(data_of(text)))
            out(own, None if data is None else values.decode(data), timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, f"read as {value}", key, value, (parent,), make=make)


def without_key(parent: Node) -> Node:
    """Return a node that removes the keys of a stream that is declared without key columns."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(None, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "no key", parent.key, parent.value, (parent,), make=make)


def in_windows(parent: Node, into: Format[Any], size_ms: int) -> Node:
    """Return a node that changes the size of the windows of keys to `size_ms`, and their format to `into`."""
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
    """Return a node that changes the format of values."""

    def make(bound: Bound, out: Flow) -> Made:
        return Made((out,))

    return Node(Kind.STEP, f"write as {into}", parent.key, into, (parent,), make=make, gives_rows=parent.gives_rows)


def null_of_single(parent: Node) -> Node:
    """Return a node that replaces a row whose only column is null by a null value."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # The format can't represent a null column, so ksqlDB writes a record with a null value. A reader of a table
            # interprets it as a delete.
            out(key, None if value == (None,) else value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "a null as no value", parent.key, parent.value, (parent,), make=make)


@overload
def with_times(rows: Stream[Any, Any], time_of: Callable[[Any, Any], int]) -> Stream[Any, Any]: ...
@overload
def with_times(rows: Rows, time_of: Callable[[Any, Any], int]) -> Rows: ...
def with_times(rows: Rows, time_of: Callable[[Any, Any], int]) -> Rows:
    """Return rows whose timestamps are the times in their keys or values. A row without the time fails."""
    if isinstance(rows, Table):
        return Table(rows.graph, rows.graph.add(_table_timestamp_node(rows.node, time_of)))
    # The task's stream time is that of its input. With earlier timestamps, all rows would be late for windows and joins
    # of this task. Behind a repartition, stream time follows from the new timestamps.
    return Stream(rows.graph, rows.graph.add(_timestamp_node(rows.node, time_of)), True)


def _timestamp_node(parent: Node, time_of: Callable[[Any, Any], int]) -> Node:
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                timestamp = time_of(None if key is None else of_row(key), value)
            out(key, value, timestamp, ctx)

        return Made((flow,))

    return Node(Kind.STEP, "event time", parent.key, parent.value, (parent,), make=make, gives_rows=parent.gives_rows)


def _table_timestamp_node(parent: Node, time_of: Callable[[Any, Any], int]) -> Node:
    of_row = reader_of_rows(parent.key)

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            if change.new is not None:
                timestamp = time_of(of_row(key), change.new)
            old, before = change.old, None
            if old is not None:
                before = bound.former(time_of, of_row(key), old)
                # A former row without a time failed, so that it was never forwarded.
                old = None if before is None else old
            out(key, change._replace(old=old, timestamp=timestamp, old_timestamp=before), timestamp, ctx)

        return Made((flow,))

    def view(bound: Bound) -> TableView[Any]:
        return _TimedRows(bound.view(parent), lambda key, row: time_of(of_row(key), row))

    return Node(Kind.STEP, "event time", parent.key, parent.value, (parent,), make=make, view=view, gives_rows=True)


class _TimedRows:
    """View of a table whose rows have the timestamps that a function of row text and row returns."""

    def __init__(self, rows: TableView[Any], time_of: Callable[[str, Any], int]) -> None:
        self._rows = rows
        self._time_of = time_of

    def get(self, key: str) -> Stamped[Any] | None:
        row = self._rows.get(key)
        return None if row is None else Stamped(row.value, self._time_of(key, row.value))


def map_rows(
    rows: Rows,
    name: str,
    into: Sequence[Any],
    make: Callable[..., Any],
    names: Sequence[str] = (),
    identify: Callable[[Format[Any]], Format[Any]] = lambda kind: kind,
) -> Rows:
    """Return the rows of a stream or table, converted by a function.

    Args:
        rows: The rows.
        name: Name of the node.
        into: Types of the new columns.
        make: Converts a row.
        names: Names of the new columns, which stores record.
        identify: Returns the format of the new rows with what stores and repartitions record in addition.
    """
    kind = identify(row_format(tuple(into), tuple(names)))
    if isinstance(rows, Stream):
        return Stream(rows.graph, rows.graph.add(rows_of_stream(rows.node, name, kind, make)), rows.is_rekeyed)
    return Table(rows.graph, rows.graph.add(rows_of_table(rows.node, name, kind, make)))


def is_windowed(rows: Rows) -> bool:
    """Return whether the keys of rows are windowed."""
    return "windowed" in rows.node.key.name
