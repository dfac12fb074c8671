"""The ends of pipelines: a topic, a topic that a function chooses, branches, or printed output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from forebay.builder.nodes import Flow
from forebay.builder.stream import Stream
from forebay.ksml.build import Build
from forebay.ksml.document import Node
from forebay.ksml.metadata import context_of
from forebay.ksml.partitions import chosen_partitions
from forebay.ksml.pipeline_values import StreamPiece
from forebay.ksml.stateless import convert_records
from forebay.ksml.stores import read_type
from forebay.ksml.types import ANY, Type
from forebay.ksml.values import WrongType, text_of
from forebay.processor.api import Context


def target_of(build: Build, node: Node) -> tuple[str, Type, Type, Node]:
    """Return the topic of a `to`, its key and value types, and its node. Raises KsmlError."""
    target = node if node.is_object else build.definition.topic(node)
    return target.string("topic"), read_type(target, "keyType", ANY), read_type(target, "valueType", ANY), target


def to_topic(build: Build, node: Node, piece: StreamPiece) -> None:
    """Send records to a topic, converted to its types."""
    topic, key, value, target = target_of(build, node)
    converted_piece = convert_records(build, node, piece, None if key == ANY else key, None if value == ANY else value)
    held = target.get("partitioner")
    if held is None:
        converted_piece.stream.to(topic)
        return
    stream, partition = chosen_partitions(build, held, converted_piece, lambda: topic)
    stream.to(topic, partitioner=partition)


def to_chosen(build: Build, node: Node, piece: StreamPiece) -> None:
    """Send each record to the topic that a function returns, which the definition must declare."""
    holder = node.get("topicNameExtractor") if node.is_object else node
    assert holder is not None
    source = build.function(holder, "topicNameExtractor")
    topics = build.definition.topics_of(piece.key, piece.value)
    if not topics:
        raise node.refuse(
            f"no stream of the definition has {piece.key} keys and {piece.value} values: "
            "define those under streams: that the function chooses among"
        )
    chosen: list[str] = [""]

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # The sink's function receives no context. The step before it, which runs for the same record, stores the
            # topic here.
            chosen[0] = call(key, value, context_of(timestamp, ctx))
            out(key, value, timestamp, ctx)

        return flow

    own = piece.stream.node
    types = (piece.key, piece.value)
    step = build.step(own, "choose topic", node, (own.key, own.value), source, types, body)
    stream: Stream[Any, Any] = Stream(build.graph, step, piece.stream.is_rekeyed)
    held = node.get("partitioner") if node.is_object else None
    if held is None:
        stream.to(lambda _key, _value: chosen[0], topics)
        return
    stream, partition = chosen_partitions(
        build, held, StreamPiece(piece.key, piece.value, stream), lambda: _among(chosen[0], topics)
    )
    stream.to(lambda _key, _value: chosen[0], topics, partition)


def _among(topic: str, topics: list[str]) -> str:
    if topic not in topics:
        raise WrongType(
            f"the topic {topic!r} was chosen, which is not one of {', '.join(topics)}: define it under streams:"
        )
    return topic


def print_records(build: Build, node: Node, piece: StreamPiece) -> None:
    """Print records, or append them to a file."""
    mapper, label, file = node.get("mapper"), node.string("label"), node.string("filename")
    source = None if mapper is None else build.function(mapper, "keyValuePrinter")

    def body(call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            shown = call(key, value) if source is not None else f"{key}, {_show(value)}"
            if shown is not None:
                write(f"[{label}]: {shown}" if label else shown, file)

        return flow

    own = piece.stream.node
    build.step(own, "print", node, (own.key, own.value), source, (piece.key, piece.value), body)


def write(line: str, file: str) -> None:
    """Write a line to a file, or to standard output."""
    if not file:
        print(line)
        return
    with Path(file).open("a", encoding="utf-8") as opened:
        opened.write(f"{line}\n")


def _show(value: Any) -> str:
    return "null" if value is None else value if isinstance(value, str) else text_of(value)


def branches(build: Build, nodes: list[Node], piece: StreamPiece) -> list[StreamPiece]:
    """Return a stream for each branch. A record goes to the first branch whose predicate is true."""
    calls: list[Callable[..., Any] | None] = []
    own = piece.stream.node
    for node in nodes:
        held = node.get("if")
        if held is None:
            calls.append(None)
            continue
        source = build.function(held, "predicate")
        if source.stores:
            raise held.refuse(f"{source.name} uses stores, which predicates of branches can't: filter before")
        calls.append(build.keyed_call(source, piece.key, piece.value))
    from forebay.builder.keys import on_keys  # noqa: PLC0415 (only branches need it)

    takes = [None if call is None else on_keys(own.key, call) for call in calls]
    chosen = [-1]

    def deciding(_call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            for number, take in enumerate(takes):
                if take is None or take(key, value):
                    # Call each predicate once per record. The branches below only compare the number, so a predicate
                    # with side effects is not repeated.
                    chosen[0] = number
                    out(key, value, timestamp, ctx)
                    return

        return flow

    formats, types = (own.key, own.value), (piece.key, piece.value)
    decided = build.step(own, "branch", nodes[0], formats, None, types, deciding)
    branch_pieces = []
    for number, node in enumerate(nodes):

        def taking(_call: Callable[..., Any], out: Flow, number: int = number) -> Flow:
            def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
                if chosen[0] == number:
                    out(key, value, timestamp, ctx)

            return flow

        step = build.step(decided, f"branch {number + 1}", node, formats, None, types, taking)
        branch_pieces.append(StreamPiece(piece.key, piece.value, Stream(build.graph, step, piece.stream.is_rekeyed)))
    return branch_pieces
