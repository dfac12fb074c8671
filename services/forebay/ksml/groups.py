"""Operations on grouped streams: windows, count, reduce, aggregate."""

from __future__ import annotations

from typing import Any

from forebay.builder.aggregates import AnyWindows
from forebay.builder.table import Table
from forebay.ksml.build import Build
from forebay.ksml.document import Node
from forebay.ksml.durations import duration
from forebay.ksml.naming import store_of
from forebay.ksml.pipeline_values import GroupedPiece, StreamPiece, TablePiece
from forebay.ksml.stateless import rekey_records
from forebay.ksml.stores import StoreSpec
from forebay.ksml.tables import result_of, with_history
from forebay.ksml.types import LONG, Type
from forebay.operators.folds import Fold, reducing
from forebay.time import SessionWindows, SlidingWindows, hopping, tumbling


def by_key(piece: StreamPiece) -> GroupedPiece:
    """Group records by their key."""
    return GroupedPiece(piece.key, piece.value, piece.stream.group_by_key())


def by_function(build: Build, node: Node, piece: StreamPiece) -> GroupedPiece:
    """Group records by the key that a function returns for each."""
    source = build.function(node.value["mapper"], "keyValueMapper")
    return by_key(rekey_records(build, node, piece, source, "group by"))


def in_time(node: Node, piece: GroupedPiece) -> GroupedPiece:
    """Divide the records of each key into time windows. Raises KsmlError."""
    return _in(node, piece, _time_windows(node))


def in_sessions(node: Node, piece: GroupedPiece) -> GroupedPiece:
    """Divide the records of each key into sessions."""
    return _in(node, piece, SessionWindows(_required_duration(node, "inactivityGap"), duration(node, "grace", 0) or 0))


def _in(node: Node, piece: GroupedPiece, windows: AnyWindows) -> GroupedPiece:
    if piece.windows is not None:
        raise node.refuse("the stream has windows already: remove one of the two")
    return GroupedPiece(piece.key, piece.value, piece.grouped, windows, piece.cogrouped, piece.fold)


def _time_windows(node: Node) -> AnyWindows:
    grace, kind = duration(node, "grace", 0) or 0, node.string("windowType")
    if kind == "sliding":
        return SlidingWindows(_required_duration(node, "timeDifference"), grace)
    size = _required_duration(node, "duration")
    return tumbling(size, grace) if kind == "tumbling" else hopping(size, _required_duration(node, "advanceBy"), grace)


def _required_duration(node: Node, key: str) -> int:
    milliseconds = duration(node, key)
    if milliseconds is None:
        raise node.refuse(f"the window has no {key}: write {key}: 5m, for example")
    return milliseconds


def cogroup_records(build: Build, node: Node, piece: GroupedPiece) -> GroupedPiece:
    """Begin a cogroup of the stream, whose aggregation the next operation specifies."""
    source = build.function(node.value["aggregator"], "aggregator")
    add = build.keyed_call(source, piece.key, piece.value, source.result)
    fold: Fold[Any, Any] = Fold(lambda: None, add)
    return GroupedPiece(piece.key, source.result, piece.grouped, piece.windows, piece.cogrouped, fold)


def count_records(build: Build, node: Node, piece: GroupedPiece) -> TablePiece:
    """Count the records of each group."""
    store = store_of(build, node, "store", "count", LONG)
    if piece.windows is None:
        table = piece.grouped.count(store=store.name)
    else:
        windowed = piece.grouped.windowed_by(piece.windows)
        table = windowed.count(store=store.name, retention_ms=_retention(piece.windows, store))
    return _table(build, piece, store, table, LONG)


def reduce_records(build: Build, node: Node, piece: GroupedPiece) -> TablePiece:
    """Combine the records of each group."""
    if node.get("reducer") is None:
        raise node.refuse("a stream is reduced by one function: write reducer: instead of adder: and subtractor:")
    source = build.function(node.value["reducer"], "reducer")
    store = store_of(build, node, "store", "reduce", piece.value)
    fold = reducing(build.valued_call(source, piece.value, piece.value))
    return _fold(build, node, piece, store, fold, piece.value)


def aggregate_records(build: Build, node: Node, piece: GroupedPiece) -> TablePiece:
    """Aggregate the records of each group."""
    initial = build.function(node.value["initializer"], "initializer")
    if piece.fold is not None:
        if node.get("aggregator") is not None:
            raise node.refuse("cogroup has the aggregator already: leave out aggregator:")
        result, add = piece.value, piece.fold.add
    else:
        if node.get("aggregator") is None:
            raise node.refuse("aggregate has no aggregator: add aggregator:")
        source = build.function(node.value["aggregator"], "aggregator")
        result = result_of(source, initial)
        add = build.keyed_call(source, piece.key, piece.value, result)
    merger = node.get("merger")
    if merger is None and isinstance(piece.windows, SessionWindows):
        raise node.refuse("sessions can be merged: add merger: with a function of key, value1 and value2")
    merge = None if merger is None else build.keyed_call(build.function(merger, "merger"), piece.key, result, result)
    store = store_of(build, node, "store", "aggregate", result)
    return _fold(build, node, piece, store, Fold(build.call(initial), add, None, merge), result)


def _fold(
    build: Build, node: Node, piece: GroupedPiece, store: StoreSpec, fold: Fold[Any, Any], result: Type
) -> TablePiece:
    kind = build.format(result, node)
    if piece.windows is None:
        return _table(build, piece, store, piece.grouped.aggregate(fold, kind, store=store.name), result)
    windowed = piece.grouped.windowed_by(piece.windows)
    retention = _retention(piece.windows, store)
    return _table(build, piece, store, windowed.aggregate(fold, kind, store=store.name, retention_ms=retention), result)


def _retention(windows: AnyWindows, store: StoreSpec) -> int:
    """Return the retention of windows in ms: that of the store, but at least as long as they may change."""
    return max(store.retention_ms, windows.retention_ms)


def _table(build: Build, piece: GroupedPiece, store: StoreSpec, table: Table[Any, Any], result: Type) -> TablePiece:
    if piece.windows is None:
        table = with_history(table, store)
    build.keep(store.name, store._replace(key=piece.key, value=result), table.node)
    key = piece.key if piece.windows is None else Type("windowed", "", (piece.key,))
    return TablePiece(key, result, table, piece.windows)
