"""Flows of sinks and repartitions, which forward elements as records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from forebay.builder.deferral import Isolated
from forebay.builder.nodes import Flow, Kind, Node, Partitioner
from forebay.processor.api import NO_KEY, Context


def sending(node: Node) -> Flow:
    """Return the flow that forwards elements to the topics of a sink, or to a repartition."""
    if node.partitioner is not None:
        return _by_partitioner(node, node.partitioner)
    return _by_key(node) if node.choose is None else _by_record(node.choose)


def _by_key(node: Node) -> Flow:
    topic = node.topics[0] if node.topics else node.name

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        ctx.forward(value, NO_KEY if key is None else key, timestamp, topic, ctx.headers or None)

    return flow


def _by_record(choose: Callable[[Any, Any], str]) -> Flow:
    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        ctx.forward(value, NO_KEY if key is None else key, timestamp, choose(key, value), ctx.headers or None)

    return flow


def _by_partitioner(node: Node, partitioner: Partitioner) -> Flow:
    name, choose, is_sink = (node.topics or (node.name,))[0], node.choose, node.kind is Kind.SINK

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        task: Any = ctx
        target = name if choose is None else choose(key, value)
        number = partitioner(key, value)
        if number is not None:
            if number.__class__ is not int or number < 0:
                raise ValueError(
                    f"the partitioner of {node.name} returned {number!r}: it must return a whole number from 0"
                )
            # Check only outputs. The number of a repartition is taken modulo the number of tasks (see `partitions.py`).
            if is_sink and 0 < (most := task.partitions_of(target)) <= number:
                raise ValueError(
                    f"the partitioner of {node.name} returned {number}, but {target} has {most} "
                    f"partitions: give one of 0 to {most - 1}, or add partitions and restart "
                    "the job"
                )
        task.forward(value, NO_KEY if key is None else key, timestamp, target, ctx.headers or None, partition=number)

    return flow


def isolating(targets: tuple[Flow, ...], isolated: Isolated) -> Flow:
    """Return a flow that passes each element to all targets. The failure of a target does not affect the others."""

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        for target in targets:
            isolated(partial(target, key, value, timestamp, ctx), ctx)

    return flow
