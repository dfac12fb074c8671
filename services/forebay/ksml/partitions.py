"""Partitioners: functions of a definition that return the partitions of a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.nodes import Flow
from forebay.builder.stream import Stream
from forebay.ksml.build import Build, of_record
from forebay.ksml.document import Node
from forebay.ksml.pipeline_values import StreamPiece
from forebay.ksml.values import WrongType
from forebay.processor.api import Context

Partition = Callable[[Any, Any], int | None]
"""Returns the partition of a key and a value; None: the hash of the key determines it."""


def chosen_partitions(
    build: Build, held: Node, piece: StreamPiece, target_of: Callable[[], str], partitions: int = 0
) -> tuple[Stream[Any, Any], Partition]:
    """Return the stream with a copy of each record for each of its partitions, and the builder's partitioner.

    Args:
        held: node that names or contains the function.
        target_of: returns the topic or repartition topic of the current record.
        partitions: number of partitions; 0: that of the target.
    """
    source = build.function(held, "streamPartitioner")
    called = build.call(source)
    own = piece.stream.node
    place: list[int | None] = [None]

    def in_order(key: Any, value: Any, topic: str, count: int) -> Any:
        return called(topic, key, value, count)

    ask = of_record(in_order, own.key, (piece.key, piece.value))

    def body(_call: Callable[..., Any], out: Flow) -> Flow:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            target = target_of()
            count = partitions or _count(ctx, target)
            # The builder's partitioner returns one partition. A record for several is forwarded once per partition,
            # with another `place` each time.
            for place[0] in partitions_of(ask(key, value, target, count), target, count):
                out(key, value, timestamp, ctx)

        return flow

    formats, types = (own.key, own.value), (piece.key, piece.value)
    step = build.step(own, f"partition by {source.name}", held, formats, None, types, body)
    return Stream(build.graph, step, piece.stream.is_rekeyed), lambda _key, _value: place[0]


def partitions_of(found: Any, target: str, count: int) -> list[int | None]:
    """Return the distinct partitions that a partitioner returned; [None]: by the key's hash. Raises WrongType."""
    if found is None:
        return [None]
    many = list(dict.fromkeys(found)) if isinstance(found, list | tuple) else [found]
    if any(number.__class__ is not int for number in many):
        raise WrongType(f"{found!r} is not a partition: return a whole number, a list of them, or None")
    if any(not 0 <= number < count for number in many):
        raise WrongType(f"{found!r} was chosen, but {target} has the partitions 0 to {count - 1}: choose of these")
    return many


def _count(ctx: Any, target: str) -> int:
    count: int = ctx.partitions_of(target)
    if not count:
        raise WrongType(
            f"the number of partitions of {target} is unknown, so no partitioner can choose one: give the job the "
            "right to describe the configuration of its topics"
        )
    return count
