"""The job that runs a topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from forebay.builder.built import BuiltLogic, BuiltTopology
from forebay.builder.components import Component
from forebay.builder.nodes import Kind, Node, TopologyError
from forebay.builder.topic_formats import read_formats, written_formats
from forebay.builder.topology import Topology
from forebay.formats import contract_of
from forebay.job import Job, Logic, SubTopology

S = TypeVar("S")

_NO_SINK = (
    "the topology writes no topic: end with to(), or pass may_end=True to job() if it only fills stores or ends in "
    "foreach()"
)


def job(settings: type[S], build: Callable[[S], Topology], *, may_end: bool = False, is_shared: bool = False) -> Job:
    """Return a job that runs a topology.

    Args:
        settings: Class of the service's settings.
        build: Function of the settings that returns the topology.
        may_end: Whether the topology may have no output topic, because its stores are only queried or it ends in
            foreach().
        is_shared: Whether all tasks of a process share one topology. Its functions must then hold no state. Otherwise
            each sub-topology of each task builds its own.

    Raises:
        TopologyError: The topology reads nothing or writes nothing, or its sub-topologies form a cycle.
    """
    return _match(settings, build, may_end, is_shared, {})


def _match(
    settings: type[S],
    build: Callable[[S], Topology],
    may_end: bool,
    is_shared: bool,
    matched: Mapping[str, Sequence[str]],
) -> Job:
    built = BuiltTopology(build, matched, is_shared=is_shared)
    topology, parts = built.build(settings())
    graph = topology.graph
    sources, sinks = graph.of_kind(Kind.SOURCE), graph.of_kind(Kind.SINK)
    if not sources or not (sinks or may_end):
        raise TopologyError("the topology reads no topic: begin with stream() or table()" if not sources else _NO_SINK)
    return Job(
        inputs=_records(sources),
        outputs=_records(sinks),
        settings=settings,
        processor=BuiltLogic(built, 0),
        tables=frozenset(topic for node in sources if node.is_table for topic in node.topics),
        table_outputs=_outputs_where(sinks, lambda node: node.gives_rows and _caching(node) is not False),
        cached_outputs=_outputs_where(sinks, lambda node: node.gives_rows and _caching(node) is True),
        graph=tuple(_sub_topology(part, BuiltLogic(built, number)) for number, part in enumerate(parts)),
        formats=written_formats(graph.nodes),
        read_formats=read_formats(graph.nodes),
        patterns={node.pattern: contract_of(node.value) for node in sources if node.pattern},
        matched=lambda topics: _match(settings, build, may_end, is_shared, topics),
    )


def _sub_topology(part: Component, logic: Logic) -> SubTopology:
    sources = part.of_kind(Kind.SOURCE)
    return SubTopology(
        part.name,
        logic,
        inputs=_records(sources),
        repartitions={node.name: node.value.type for node in part.reads},
        sends=frozenset(node.name for node in part.of_kind(Kind.REPARTITION)),
        tables=frozenset(topic for node in sources if node.is_table for topic in node.topics)
        | {
            node.name for node in part.reads if any(node in parent.parents and parent.is_table for parent in part.nodes)
        },
        nullable=frozenset(topic for node in sources if node.is_nullable for topic in node.topics)
        | {node.name for node in part.reads},
        global_tables=frozenset(topic for node in sources if node.is_global for topic in node.topics),
        state_name=part.state_name,
    )


def _records(nodes: Iterable[Node]) -> dict[str, type[Any]]:
    return {topic: node.value.type for node in nodes for topic in node.topics}


def _caching(node: Node) -> bool | None:
    """Return the caching option of the nearest store at or before a node; None if it is not set."""
    # A filter or a mapping of a table has no store. The cache of the table before it decides.
    while not node.stores and len(node.parents) == 1:
        (node,) = node.parents
    return node.stores[0].options.caching if node.stores else None


def _outputs_where(sinks: Iterable[Node], holds: Callable[[Node], bool]) -> frozenset[str]:
    """Return the topics that have one sink, for which `holds` is true."""
    sent: dict[str, bool] = {}
    for node in sinks:
        for topic in node.topics:
            # If several sinks write a topic, an earlier record of a key belongs to another table, stream or branch than
            # the last one. Dropping it would lose an event.
            sent[topic] = topic not in sent and holds(node)
    return frozenset(topic for topic, are_rows in sent.items() if are_rows)
