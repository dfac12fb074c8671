"""Operations on tables: filter, transform, group, aggregate, suppress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.table import Table
from forebay.ksml.build import Build
from forebay.ksml.code import Source
from forebay.ksml.document import Node
from forebay.ksml.durations import milliseconds
from forebay.ksml.naming import store_of
from forebay.ksml.pairs import Pair, pair_of
from forebay.ksml.pipeline_values import GroupedTablePiece, StreamPiece, TablePiece
from forebay.ksml.stores import StoreSpec
from forebay.ksml.types import ANY, LONG, Type
from forebay.operators.folds import Fold
from forebay.operators.suppress import UntilTimeLimit, UntilWindowCloses, WhenFull
from forebay.stores.materialized import derived_store


def filter_rows(build: Build, node: Node, piece: TablePiece, *, passes: bool) -> TablePiece:
    """Filter rows."""
    call = _call(build, node, piece, build.function(node.value["if"], "predicate"))
    verb = piece.table.filter if passes else piece.table.filter_not
    return store_rows(
        build, node, TablePiece(piece.key, piece.value, verb(lambda k, v: bool(call(k, v))), piece.windows)
    )


def value_mapped(build: Build, node: Node, piece: TablePiece) -> TablePiece:
    """Change each row's value."""
    source = build.function(node.value["mapper"], "valueTransformer")
    table = piece.table.map_values(_call(build, node, piece, source), build.format(source.result, node))
    return store_rows(build, node, TablePiece(piece.key, source.result, table, piece.windows))


def convert_rows(build: Build, node: Node, piece: TablePiece, value: Type) -> TablePiece:
    """Convert values to another type."""
    from forebay.ksml.convert import converter  # noqa: PLC0415 (only this operation converts)

    change = converter(piece.value, value, build.formats)
    if change is None:
        return TablePiece(piece.key, value, piece.table, piece.windows)
    table = piece.table.map_values(lambda _, old: change(old), build.format(value, node))
    return TablePiece(piece.key, value, table, piece.windows)


def to_stream(piece: TablePiece) -> StreamPiece:
    """Return a table's changes as a stream."""
    return StreamPiece(piece.key, piece.value, piece.table.to_stream())


def group_rows(build: Build, node: Node, piece: TablePiece) -> GroupedTablePiece:
    """Group rows by the key, and with the value, that a function returns for each."""
    source = build.function(node.value["mapper"], "keyValueMapper")
    is_pair = source.result.kind == "tuple" and len(source.result.parts) == 2
    key, value = source.result.parts if is_pair else (source.result, piece.value)
    call = _call(build, node, piece, source)
    kind = build.key_format(key, node)
    pairs = pair_of(kind, build.format(value, node))

    def pair(own: Any, row: Any) -> Pair:
        group = call(own, row)
        if not is_pair:
            return Pair(group, row)
        # As in Kafka Streams, a row without a key or a value is in no group.
        return Pair(*group) if group is not None and group[1] is not None else Pair(None, None)

    # The DSL groups by a key and keeps the row. KSML's mapper may also change the value, so both travel as a pair.
    grouped_table = piece.table.map_values(pair, pairs).group_by(lambda _, group: group.one, kind)
    return GroupedTablePiece(key, value, grouped_table)


def aggregate_rows(build: Build, node: Node, piece: GroupedTablePiece) -> TablePiece:
    """Aggregate the rows of each group."""
    if node.get("adder") is None or node.get("subtractor") is None:
        raise node.refuse(
            "rows of a table can be removed from an aggregate: write adder: and subtractor: instead of aggregator:"
        )
    initial = build.function(node.value["initializer"], "initializer")
    adder = build.function(node.value["adder"], "aggregator")
    subtractor = build.function(node.value["subtractor"], "aggregator")
    result = result_of(adder, initial)
    add = build.keyed_call(adder, piece.key, piece.value, result)
    subtract = build.keyed_call(subtractor, piece.key, piece.value, result)
    return _fold(build, node, piece, Fold(build.call(initial), _of_pair(add), _of_pair(subtract)), result)


def reduce_rows(build: Build, node: Node, piece: GroupedTablePiece) -> TablePiece:
    """Combine the rows of each group."""
    if node.get("adder") is None or node.get("subtractor") is None:
        raise node.refuse(
            "rows of a table can be removed from an aggregate: write adder: and subtractor: instead of reducer:"
        )
    add = build.valued_call(build.function(node.value["adder"], "reducer"), piece.value, piece.value)
    subtract = build.valued_call(build.function(node.value["subtractor"], "reducer"), piece.value, piece.value)

    def add_row(_key: Any, row: Pair, total: Any) -> Any:
        return row.other if total is None else add(total, row.other)

    fold: Fold[Any, Any] = Fold(lambda: None, add_row, lambda _key, row, total: subtract(total, row.other))
    return _fold(build, node, piece, fold, piece.value)


def count_rows(build: Build, node: Node, piece: GroupedTablePiece) -> TablePiece:
    """Count the rows of each group."""
    store = store_of(build, node, "store", "count", LONG)
    table = with_history(piece.grouped.count(store=store.name), store)
    return _keep(build, store, TablePiece(piece.key, LONG, table))


def _fold(build: Build, node: Node, piece: GroupedTablePiece, fold: Fold[Any, Any], result: Type) -> TablePiece:
    store = store_of(build, node, "store", node.string("type"), result)
    table = with_history(piece.grouped.aggregate(fold, build.format(result, node), store=store.name), store)
    return _keep(build, store, TablePiece(piece.key, result, table))


def with_history(table: Table[Any, Any], store: StoreSpec) -> Table[Any, Any]:
    """Return an aggregate with the history that its store is declared with."""
    if store.history_ms is None:
        return table
    # The aggregate itself needs its current value. The versions are in another store.
    return table.materialized(derived_store(store.name, "history"), store.history_ms)


def _keep(build: Build, store: StoreSpec, piece: TablePiece) -> TablePiece:
    """Make the store of a table's rows available to functions."""
    build.keep(store.name, store._replace(key=piece.key, value=piece.value), piece.table.node)
    return piece


def _of_pair(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key, row, total: call(key, row.other, total)


def suppress_rows(build: Build, node: Node, piece: TablePiece) -> TablePiece:
    """Hold updates back until a time limit is over or their window closes."""
    is_limit = node.string("until") == "timeLimit"
    # Results of closed windows are final. As in KSML, a full buffer emits nothing earlier, with either strategy.
    shuts_down = not is_limit or node.string("bufferFullStrategy") == "shutdownWhenFull"
    store = build.name(node.string("name") or "suppress")
    limits: dict[str, Any] = {
        "max_records": _number(node, "maxRecords"),
        "max_bytes": _number(node, "maxBytes"),
        "when_full": WhenFull.SHUT_DOWN if shuts_down else WhenFull.EMIT_EARLY,
    }
    if is_limit:
        limit = node.get("duration")
        if limit is None:
            raise node.refuse("until: timeLimit has no duration: write duration: 30s, for example")
        table = piece.table.suppress(UntilTimeLimit(milliseconds(limit)), store=store, **limits)
    else:
        windows = piece.windows
        if windows is None:
            raise node.refuse("until: windowCloses needs windows: put windowByTime or windowBySession before")
        table = piece.table.suppress(UntilWindowCloses(windows), store=store, **limits)
    return TablePiece(piece.key, piece.value, table, piece.windows)


def _number(node: Node, key: str) -> int | None:
    child = node.get(key)
    return None if child is None else int(child.value)


def result_of(adder: Source, initial: Source) -> Type:
    """Return the type of an aggregate: the result type of the aggregator, or of the initializer."""
    return adder.result if adder.result != ANY else initial.result


def _call(build: Build, node: Node, piece: TablePiece, source: Source) -> Callable[..., Any]:
    if source.stores:
        raise node.refuse(
            f"{source.name} uses stores, but works on a table here: put toStream before, and toTable behind"
        )
    return build.keyed_call(source, piece.key, piece.value)


def store_rows(build: Build, node: Node, piece: TablePiece, wanted: str = "") -> TablePiece:
    """Keep the rows in a separate store if the node names one.

    Args:
        wanted: base of the store's name if it has none; "": the operation's type.
    """
    if node.get("store") is None:
        return piece
    store = store_of(build, node, "store", wanted or node.string("type"), piece.value)
    table: Table[Any, Any] = piece.table.materialized(store.name, store.history_ms)
    return _keep(build, store, TablePiece(piece.key, piece.value, table, piece.windows))
