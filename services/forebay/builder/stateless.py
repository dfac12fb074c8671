"""Nodes that filter, map, rekey, deduplicate and send records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forebay.builder.graph import Graph
from forebay.builder.keys import on_keys
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, Partitioner, TopologyError
from forebay.formats import TEXT, Format
from forebay.formats.identities import key_of
from forebay.operators.deduplicate import Deduplicate
from forebay.processor.api import Context
from forebay.stores.keys import join_key
from forebay.stores.ttl import TtlKeyValueStore
from forebay.time.durations import Duration

Pairs = Callable[[Any, Any], Iterable[tuple[Any, Any]]]


def filter_node(parent: Node, name: str, keeps: Callable[[Any, Any], bool], *, passes: bool) -> Node:
    """Return the node that forwards records for which `keeps` returns `passes`, and records with a null value."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            # Kafka Streams calls the predicate with null. Here nulls pass, so that a predicate written for values need
            # not handle them.
            if value is None or bool(keeps(key, value)) is passes:
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return _step(name, parent, parent.key, parent.value, make, gives_rows=parent.gives_rows)


def with_values(parent: Node) -> Node:
    """Return the node that forwards records with a value."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return _step("drop nulls", parent, parent.key, parent.value, make, gives_rows=parent.gives_rows)


def mapped_values(parent: Node, into: Format[Any], mapper: Callable[[Any, Any], Any]) -> Node:
    """Return the node that replaces each value. Null values stay null."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            out(key, None if value is None else mapper(key, value), timestamp, ctx)

        return Made((flow,))

    return _step(f"map to {into}", parent, parent.key, into, make, gives_rows=parent.gives_rows)


def flat_mapped(parent: Node, into: Format[Any], mapper: Callable[[Any, Any], Iterable[Any]]) -> Node:
    """Return the node that replaces each value by any number of values. Null values are forwarded unchanged."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is None:
                out(key, None, timestamp, ctx)
                return
            for item in mapper(key, value):
                out(key, item, timestamp, ctx)

        return Made((flow,))

    return _step(f"map to any number of {into}", parent, parent.key, into, make)


def rekey_node(parent: Node, name: str, key: Format[Any], value: Format[Any], pairs: Pairs) -> Node:
    """Return the node that replaces each record by records with other keys. Records with a null value are dropped."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(old: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is not None:
                # A record without a value can't be rekeyed, because the new key is computed from the value.
                for text, item in pairs(old, value):
                    out(text, item, timestamp, ctx)

        return Made((flow,))

    return _step(name, parent, key, value, make)


def peek_node(parent: Node, action: Callable[[Any, Any], object]) -> Node:
    """Return the node that calls `action` with each record."""

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            action(key, value)
            out(key, value, timestamp, ctx)

        return Made((flow,))

    return _step("peek", parent, parent.key, parent.value, make, gives_rows=parent.gives_rows)


def merge_node(parents: tuple[Node, ...]) -> Node:
    """Return the node that merges the records of several streams."""

    def make(bound: Bound, out: Flow) -> Made:
        return Made((out,) * len(parents))

    return Node(Kind.STEP, "merge", parents[0].key, parents[0].value, parents, make=make)


def branch(parent: Node, name: str, before: Sequence[Callable[..., bool]], takes: Callable[..., bool] | None) -> Node:
    """Return the node of a branch, which forwards the records that `takes` accepts and no earlier branch did.

    Args:
        takes: Predicate of the branch. None: the default branch, which accepts all other records and null values.
    """

    def make(bound: Bound, out: Flow) -> Made:
        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if value is None:
                if takes is None:
                    out(key, value, timestamp, ctx)
            elif not any(other(key, value) for other in before) and (takes is None or takes(key, value)):
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return _step(f"branch {name}", parent, parent.key, parent.value, make)


def deduplication_node(parent: Node, id_of: Callable[[Any, Any], str | None], store: str, ttl_ms: Duration) -> Node:
    """Return the node that drops a record if one with the same key and id arrived within `ttl_ms` before it."""
    declared: TtlKeyValueStore[Any] = TtlKeyValueStore(store, parent.value, ttl_ms)
    declared.key_identity = key_of(parent.key.identity, TEXT.identity)

    def ident(key: str, value: Any) -> str | None:
        own = id_of(key, value)
        # The id is combined with the key, because only records with the same key are sure to reach the same task.
        return None if own is None else join_key(key, own)

    def make(bound: Bound, out: Flow) -> Made:
        operator = Deduplicate(bound.store(declared), ident)

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            if key is None or operator.process(key, value, timestamp):
                out(key, value, timestamp, ctx)

        return Made((flow,))

    return _step("deduplicate", parent, parent.key, parent.value, make, stores=(declared,))


def sink(
    graph: Graph,
    parent: Node,
    topic: str | Callable[..., str],
    topics: Sequence[str],
    partitioner: Partitioner | None = None,
) -> None:
    """Add the node that sends records to a topic, or to one of several topics. Raise TopologyError if it is invalid."""
    if isinstance(topic, str):
        if topics:
            raise TopologyError(f"topic {topic}: topics= is only for a function that chooses the topic; remove it")
        node = Node(
            Kind.SINK,
            topic,
            parent.key,
            parent.value,
            (parent,),
            topics=(topic,),
            gives_rows=parent.gives_rows,
            asks_old=False,
            partitioner=partitioner,
        )
        graph.add(node)
        return
    if not topics:
        raise TopologyError("the topic is chosen by a function: list all topics that it may return with topics=")
    names, choose = tuple(topics), on_keys(parent.key, topic)

    def chosen(key: Any, value: Any) -> str:
        topic: str = choose(key, value)
        # Topics must be declared because they are created, and their limits read, before the first record is processed.
        if topic not in names:
            raise ValueError(
                f"the topic {topic!r} was chosen, which is not one of {', '.join(names)}: name it in topics="
            )
        return topic

    label = " or ".join(names)
    node = Node(
        Kind.SINK,
        label,
        parent.key,
        parent.value,
        (parent,),
        topics=names,
        choose=chosen,
        asks_old=False,
        partitioner=partitioner,
    )
    graph.add(node)


def _step(
    name: str, parent: Node, key: Format[Any], value: Format[Any], make: Callable[[Bound, Flow], Made], **more: Any
) -> Node:
    return Node(Kind.STEP, name, key, value, (parent,), make=make, **more)
