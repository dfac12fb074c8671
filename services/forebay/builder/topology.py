"""The beginning of a topology, and the job that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from forebay.builder.compiled import CompiledStage
from forebay.builder.graph import Graph, Kind, Node, TopologyError
from forebay.builder.stream import Stream
from forebay.builder.table import Table, table_node
from forebay.job import Job, Logic, Stage
from forebay.processor.api import AnyProcessor
from forebay.stores.timestamped import TimestampedKeyValueStore

V = TypeVar("V")
S = TypeVar("S")


class Topology:
    """Streams and tables, what is made of them, and where it goes.

    Args:
        close_idle_after_ms: idle time after which everything open is closed at once, ahead of the clock, and what comes
            later for it is refused; 0 = never: then it closes as the clock moves.
    """

    def __init__(self, close_idle_after_ms: int = 0) -> None:
        self.graph = Graph()
        self.close_idle_after_ms = close_idle_after_ms
        self.tables: set[str] = set()
        """Topics read as tables."""

    def stream(self, topic: str, record: type[V]) -> Stream[V]:
        """Read a topic as a stream of records."""
        return Stream(self.graph, self.graph.add(Node(Kind.SOURCE, topic, 0, record)))

    def table(self, topic: str, record: type[V], *, store: str, history_retention_ms: int | None = None) -> Table[V]:
        """Read a topic as a table: the last record of a key counts, or with a history the latest by timestamp.

        A record without value deletes its key.

        Args:
            store: name of the store that holds the rows.
            history_retention_ms: makes the table versioned; None: it is not.
        """
        source = self.graph.add(Node(Kind.SOURCE, topic, 0, record))
        self.tables.add(topic)
        return Table(self.graph, self.graph.add(table_node(source, store, history_retention_ms)))


def job(settings: type[S], build: Callable[[S], Topology]) -> Job:
    """Give the job that runs the topology which `build` makes of the service's settings.

    Raises:
        TopologyError: nothing is read, or nothing sent.
    """
    topology = build(settings())
    graph = topology.graph
    sources, sinks = graph.of_kind(Kind.SOURCE), graph.of_kind(Kind.SINK)
    if not sources or not sinks:
        raise TopologyError("the topology reads no topic: begin with stream() or table()" if not sources else _NO_SINK)
    return Job(
        inputs={node.name: node.record for node in sources},
        outputs={node.name: node.record for node in sinks},
        settings=settings,
        processor=_logic(build, 0),
        tables=frozenset(topology.tables),
        table_outputs=frozenset(node.name for node in sinks if _holds_rows(node)),
        then=tuple(
            Stage(node.name, node.record, _logic(build, node.stage + 1)) for node in graph.of_kind(Kind.REPARTITION)
        ),
    )


def _holds_rows(sink: Node) -> bool:
    """Tell whether a sink is sent an aggregate's rows."""
    node = sink
    while len(node.parents) == 1 and not node.stores:
        node = node.parents[0]
    return any(isinstance(store, TimestampedKeyValueStore) for store in node.stores)


_NO_SINK = "the topology sends nothing: end with to()"


def _logic(build: Callable[[S], Topology], stage: int) -> Logic:
    def make(settings: Any) -> AnyProcessor:
        topology = build(settings)
        return CompiledStage(topology.graph, stage, topology.close_idle_after_ms)

    return make
