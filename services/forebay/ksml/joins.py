"""Operations on two streams or tables: joins and merges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.stream import Stream
from forebay.ksml.build import Build
from forebay.ksml.convert import converter
from forebay.ksml.document import Node
from forebay.ksml.durations import duration
from forebay.ksml.naming import OTHER_SIDES, store_of
from forebay.ksml.pairs import Pair, pair_of
from forebay.ksml.pipeline_values import NAMES, GlobalPiece, Piece, StreamPiece, TablePiece
from forebay.ksml.stateless import convert_records
from forebay.ksml.stores import StoreSpec
from forebay.ksml.tables import store_rows, with_history
from forebay.ksml.types import Type
from forebay.ksml.values import giver_of
from forebay.time import within

_VERBS = {"join": "join", "leftJoin": "left_join", "outerJoin": "outer_join"}


def other_of(node: Node) -> tuple[str, Node]:
    """Return the key (stream, table or globalTable) and the node of a join's other side. Raises KsmlError."""
    sides = [(key, node.value[key]) for key in OTHER_SIDES if node.get(key) is not None]
    if len(sides) != 1:
        raise node.refuse("a join has one other side: write one of stream:, table: and globalTable:")
    return sides[0]


def join_pieces(build: Build, node: Node, piece: Piece, other: Piece) -> Piece:
    """Join a stream or a table with another. Raises KsmlError."""
    if isinstance(piece, StreamPiece):
        if isinstance(other, StreamPiece):
            return _with_stream(build, node, piece, other)
        if isinstance(other, TablePiece):
            return _with_table(build, node, piece, other)
        if isinstance(other, GlobalPiece):
            return _with_global(build, node, piece, other)
    if isinstance(piece, TablePiece) and isinstance(other, TablePiece):
        return _tables(build, node, piece, other)
    raise node.refuse(
        f"{node.string('type')} can't join {NAMES[type(piece)]} with {NAMES[type(other)]}: "
        "put toStream or toTable before"
    )


def _with_stream(build: Build, node: Node, piece: StreamPiece, other: StreamPiece) -> Piece:
    difference = duration(node, "timeDifference")
    if difference is None:
        raise node.refuse("a join of streams has no timeDifference: write timeDifference: 5m, for example")
    grace = duration(node, "grace", 0) or 0
    store = store_of(build, node, "thisStore", "join")
    verb = getattr(piece.stream, _VERBS[node.string("type")])
    # Unlike KSML's, the DSL's joiner receives no key. Join to a pair, and call the function in the next step.
    joined_stream = verb(
        other.stream, Pair, _pairs(build, node, piece, other), windows=within(difference, grace), store=store.name
    )
    return _call_of(build, node, piece, other, joined_stream)


def _with_table(build: Build, node: Node, piece: StreamPiece, other: TablePiece) -> Piece:
    if node.string("type") == "outerJoin":
        raise node.refuse("a stream and a table have no outer join: write leftJoin")
    grace = duration(node, "grace", 0) or 0
    # The name contains the line, because KSML has no name for this store.
    more: dict[str, Any] = {"grace_ms": grace, "waiting": build.name(f"waiting-{node.key_line}")} if grace else {}
    verb = getattr(piece.stream, _VERBS[node.string("type")])
    return _call_of(build, node, piece, other, verb(other.table, Pair, _pairs(build, node, piece, other), **more))


def _with_global(build: Build, node: Node, piece: StreamPiece, other: GlobalPiece) -> Piece:
    mapper = node.get("mapper")
    if mapper is None or node.string("type") == "outerJoin":
        raise node.refuse("a join with a global table is join or leftJoin, and needs a mapper that returns its key")
    source = build.function(mapper, "keyValueMapper")
    call = build.keyed_call(source, piece.key, piece.value)
    change = converter(source.result, other.key, build.formats)
    key_of = call if change is None else lambda key, value: _unless_null(change, call(key, value))
    verb = getattr(piece.stream, _VERBS[node.string("type")])
    return _call_of(
        build, node, piece, other, verb(other.table, Pair, _pairs(build, node, piece, other), key_of=key_of)
    )


def _unless_null(change: Callable[[Any], Any], key: Any) -> Any:
    return None if key is None else change(key)


def _call_of(build: Build, node: Node, piece: Piece, other: Piece, pairs: Stream[Any, Any]) -> StreamPiece:
    """Add a step that calls the joiner with each pair and its key."""
    source = build.function(node.value["valueJoiner"], "valueJoiner")
    give = _pair_giver(piece.value, other.value)

    def body(call: Callable[..., Any], out: Any) -> Any:
        def flow(key: Any, pair: Pair, timestamp: int, ctx: Any) -> None:
            out(key, call(key, *give(pair)), timestamp, ctx)

        return flow

    formats = (pairs.node.key, build.format(source.result, node))
    step = build.step(pairs.node, "join values", node, formats, source, (piece.key, _RAW), body)
    return StreamPiece(piece.key, source.result, Stream(build.graph, step, pairs.is_rekeyed))


_RAW = Type("null")
"""A type whose values are passed unchanged."""


def _pair_giver(one: Type, other: Type) -> Callable[[Pair], tuple[Any, Any]]:
    first, last = giver_of(one), giver_of(other)

    def give(pair: Pair) -> tuple[Any, Any]:
        a, b = pair
        return (
            a if first is None or a is None else first(a),
            b if last is None or b is None else last(b),
        )

    return give


def _tables(build: Build, node: Node, piece: TablePiece, other: TablePiece) -> TablePiece:
    source = build.function(node.value["valueJoiner"], "valueJoiner")
    pairs, verb = _pairs(build, node, piece, other), _VERBS[node.string("type")]
    history: StoreSpec | None = None
    extractor = node.get("foreignKeyExtractor")
    if extractor is None:
        table = getattr(piece.table, verb)(other.table, Pair, pairs)
    else:
        if verb == "outer_join":
            raise node.refuse("a join by a foreign key is join or leftJoin: write one of them")
        foreign = build.function(extractor, "foreignKeyExtractor")
        call = build.valued_call(foreign, piece.value)
        change = converter(foreign.result, other.key, build.formats)
        store = store_of(build, node, "store", "foreign-join")
        table = getattr(piece.table, f"{verb}_by_foreign_key")(
            other.table,
            (lambda _, value: call(value)) if change is None else (lambda _, value: _unless_null(change, call(value))),
            Pair,
            pairs,
            store=store.name,
        )
        history = store
    joiner = build.keyed_call(source, piece.key, piece.value, other.value)
    joined_table = table.map_values(lambda key, pair: joiner(key, *pair), build.format(source.result, node))
    if history is not None:
        joined_table = with_history(joined_table, history)
    joined_piece = TablePiece(piece.key, source.result, joined_table, piece.windows)
    # All kinds of joins use the same name, so that an upgraded job finds its state.
    return store_rows(build, node, joined_piece, "join") if extractor is None else joined_piece


def _pairs(build: Build, node: Node, piece: Piece, other: Piece) -> Any:
    return pair_of(build.format(piece.value, node), build.format(other.value, node))


def merge_streams(build: Build, node: Node, piece: StreamPiece, other: Piece) -> StreamPiece:
    """Return the merged records of two streams, converted to the types of the first. Raises KsmlError."""
    if not isinstance(other, StreamPiece):
        raise node.refuse(f"merge takes a stream, not {NAMES[type(other)]}: name one")
    alike = convert_records(build, node, other, piece.key, piece.value)
    return StreamPiece(piece.key, piece.value, piece.stream.merge(alike.stream))
