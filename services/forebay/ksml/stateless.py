"""Operations without state: filter, peek, transformations, conversions, metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.builder.nodes import Flow
from forebay.builder.stream import Stream
from forebay.formats import Format
from forebay.ksml.build import Build
from forebay.ksml.code import Source
from forebay.ksml.convert import converter
from forebay.ksml.document import Node
from forebay.ksml.metadata import metadata_flow
from forebay.ksml.pipeline_values import StreamPiece
from forebay.ksml.types import ANY, JSON, Type
from forebay.ksml.values import WrongType
from forebay.processor.api import Context


def filter_records(build: Build, node: Node, piece: StreamPiece, *, passes: bool) -> StreamPiece:
    """Forward the records for which the predicate returns true (or false)."""

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # Unlike the DSL's filter, KSML's predicate is called for null values too.
            if bool(call(key, value)) is passes:
                out(key, value, timestamp, ctx)

        return flow

    return _same(build, node, piece, "filter" if passes else "filter not", _function(build, node, "if"), body)


def peek_records(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Call a function with each record."""
    source = build.function(node.value["forEach"], "forEach")
    return _same(build, node, piece, "peek", source, _show)


def _show(call: Callable[..., Any], out: Flow) -> Flow:
    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        call(key, value)
        out(key, value, timestamp, ctx)

    return flow


def for_each(build: Build, node: Node, piece: StreamPiece) -> None:
    """Call a function with each record, as the end of the pipeline."""
    _same(build, node, piece, "for each", build.function(node, "forEach"), _show)


def value_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace the value of each record."""
    source = _function(build, node, "mapper", "valueTransformer")
    value = build.format(source.result, node)

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, found: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(key, call(key, found), timestamp, ctx)

        return flow

    step = _step(build, node, piece, f"map to {source.result}", source, body, (piece.stream.node.key, value), True)
    return StreamPiece(piece.key, source.result, Stream(build.graph, step, piece.stream.is_rekeyed))


def key_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace the key of each record."""
    return rekey_records(build, node, piece, _function(build, node, "mapper", "keyTransformer"), "select key")


def rekey_records(build: Build, node: Node, piece: StreamPiece, source: Source, name: str) -> StreamPiece:
    """Replace the key of each record with the result of a function. None is a valid key."""
    key = build.key_format(source.result, node)
    row = writer_of_rows(key)

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(text: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            key = call(text, value)
            out(None if key is None else row(key), value, timestamp, ctx)

        return flow

    step = _step(build, node, piece, name, source, body, (key, piece.stream.node.value))
    return StreamPiece(source.result, piece.value, Stream(build.graph, step, True))


def both_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace each record with the record that a function returns, or drop it if the result is None."""
    source = _function(build, node, "mapper", "keyValueTransformer")
    return _pair(build, node, piece, source, source.result, lambda found: () if found is None else (found,))


def flat_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace each record with any number of records."""
    source = _function(build, node, "mapper", "keyValueToKeyValueListTransformer")
    kind = source.result.parts[0] if source.result.kind == "list" else ANY
    return _pair(build, node, piece, source, kind, lambda found: found or ())


def _pair(
    build: Build, node: Node, piece: StreamPiece, source: Source, pair: Type, many: Callable[[Any], Iterable[Any]]
) -> StreamPiece:
    kinds = pair.parts if pair.kind == "tuple" and len(pair.parts) == 2 else (JSON, JSON)
    key, value = build.key_format(kinds[0], node), build.format(kinds[1], node)
    row = writer_of_rows(key)

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(text: Any, old: Any, timestamp: int, ctx: Context[Any]) -> None:
            for new_pair in many(call(text, old)):
                if not isinstance(new_pair, list | tuple) or len(new_pair) != 2:
                    raise WrongType(
                        f"{source.file}:{source.line}: function {source.name} returned {new_pair!r}: return "
                        "(key, value)"
                    )
                out(None if new_pair[0] is None else row(new_pair[0]), new_pair[1], timestamp, ctx)

        return flow

    step = _step(build, node, piece, "map", source, body, (key, value))
    return StreamPiece(kinds[0], kinds[1], Stream(build.graph, step, True))


def values_flat_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace each record with one record for each value that a function returns."""
    source = _function(build, node, "mapper", "keyValueToValueListTransformer")
    kind = source.result.parts[0] if source.result.kind == "list" else JSON

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(text: Any, old: Any, timestamp: int, ctx: Context[Any]) -> None:
            for new_value in call(text, old) or ():
                out(text, new_value, timestamp, ctx)

        return flow

    step = _step(build, node, piece, "flat map", source, body, (piece.stream.node.key, build.format(kind, node)))
    return StreamPiece(piece.key, kind, Stream(build.graph, step, piece.stream.is_rekeyed))


def metadata_mapped(build: Build, node: Node, piece: StreamPiece) -> StreamPiece:
    """Replace the headers or the timestamp of each record."""
    source = _function(build, node, "mapper", "metadataTransformer")
    changed = _same(build, node, piece, "transform metadata", source, metadata_flow)
    # The function may have changed the timestamp, but the task's stream time is that of its input. With earlier
    # timestamps, all records would be late for windows and joins of this task. Behind a repartition, stream time
    # follows from the new timestamps.
    return StreamPiece(piece.key, piece.value, Stream(build.graph, changed.stream.node, True))


def convert_records(build: Build, node: Node, piece: StreamPiece, key: Type | None, value: Type | None) -> StreamPiece:
    """Convert keys or values to another type; None: no conversion."""
    change_key = None if key is None else converter(piece.key, key, build.formats)
    change = None if value is None else converter(piece.value, value, build.formats)
    old_key = piece.stream.node.key
    new_key = old_key if key is None or change_key is None else _key_format(build, node, piece, key)
    new_value = piece.stream.node.value if value is None else build.format(value, node)
    kinds = (piece.key if key is None else key, piece.value if value is None else value)
    if new_key is old_key and new_value is piece.stream.node.value and change is None:
        return StreamPiece(*kinds, piece.stream)
    rewrite = _rewriter(old_key, new_key, change_key) if change_key is not None else None

    def body(_call: Callable[..., Any], out: Flow) -> Flow:
        def flow(text: Any, old: Any, timestamp: int, ctx: Context[Any]) -> None:
            row = text if rewrite is None or text is None else rewrite(text)
            out(row, old if change is None else change(old), timestamp, ctx)

        return flow

    step = _step(build, node, piece, "convert", None, body, (new_key, new_value), rewrite is None)
    return StreamPiece(*kinds, Stream(build.graph, step, piece.stream.is_rekeyed or rewrite is not None))


def _key_format(build: Build, node: Node, piece: StreamPiece, key: Type) -> Format[Any]:
    if key.kind == "windowed" and not key.notation and piece.key.kind == "windowed":
        return piece.stream.node.key
    return build.key_format(key, node)


def _rewriter(old: Format[Any], new: Format[Any], change: Callable[[Any], Any]) -> Callable[[str], str]:
    of_row, row = reader_of_rows(old), writer_of_rows(new)
    return lambda text: row(change(of_row(text)))


def _function(build: Build, node: Node, key: str, kind: str = "predicate") -> Source:
    return build.function(node.value[key], kind)


def _same(build: Build, node: Node, piece: StreamPiece, name: str, source: Source, body: Any) -> StreamPiece:
    own = piece.stream.node
    step = _step(build, node, piece, name, source, body, (own.key, own.value), True)
    return StreamPiece(piece.key, piece.value, Stream(build.graph, step, piece.stream.is_rekeyed))


def _step(
    build: Build,
    node: Node,
    piece: StreamPiece,
    name: str,
    source: Source | None,
    body: Any,
    formats: tuple[Format[Any], Format[Any]],
    is_one_to_one: bool = False,
) -> Any:
    """Add a step.

    Args:
        is_one_to_one: whether it forwards at most one record for each record, with the same key.
    """
    shown = node.string("name") or name
    parent = piece.stream.node
    # A function with stores needs all records of a key in its task. KSML keeps a partial value per partition instead.
    if source is not None and source.stores and build.by_key:
        parent = piece.stream.partition_by_key(build.name(f"{source.name}-keyed"))
    return build.step(
        parent,
        shown,
        node,
        formats,
        source,
        (piece.key, piece.value),
        body,
        # A cache sends only the last row of each key. Records with another key, and several records of a row, are not
        # rows: the cache would lose all but the last.
        gives_rows=parent.gives_rows and is_one_to_one,
    )
