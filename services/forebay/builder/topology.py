"""The beginning of a topology, and the job that runs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar, overload

from forebay.builder import rows
from forebay.builder.built import BuiltLogic, BuiltTopology
from forebay.builder.components import Component
from forebay.builder.graph import Graph, Kind, Node, TopologyError
from forebay.builder.shown import Shown
from forebay.builder.specs import Spec, format_or_refuse
from forebay.builder.stream import Stream
from forebay.builder.table import GlobalTable, Table
from forebay.builder.together import topic_part
from forebay.builder.topic_formats import read_formats, written_formats
from forebay.formats import TEXT, Format, contract_of
from forebay.job import Job, Logic, SubTopology
from forebay.names import check_pattern
from forebay.processor.api import Reading
from forebay.processor.messages import Message
from forebay.records import fields_of, is_record_type
from forebay.time.durations import Duration, ms_of

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NO_SINK = (
    "the topology sends nothing: end with to(), or give job(..., may_end=True) if it only fills stores or ends in "
    "foreach()"
)


class Topology(Shown):
    """Describe streams, tables, the operators between them, and the topics that the results go to.

    The event time of a record is its Kafka timestamp, unless `timestamp` names a field of the value (in ms) or is a
    function that returns it. With `event_id`, a record is dropped if a record with the same id arrived shortly before.
    Keys are strings unless `key` names another format.

    Args:
        close_idle_after_ms: If the input is idle for this time, close all open windows and sessions before stream time
            has passed them. Records that arrive later for them are rejected. 0 turns this off.
    """

    def __init__(self, close_idle_after_ms: Duration = 0) -> None:
        self.graph = Graph()
        self.close_idle_after_ms = ms_of(close_idle_after_ms)
        self.figures: Callable[[], Mapping[str, float]] = dict
        """Return the counters that the topology's functions maintain (see Processor.figures)."""

    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        value: Spec[V],
        *,
        timestamp: str | Callable[[V], int] | None = None,
        event_id: str | Callable[[V], str | None] | None = None,
        extract: Callable[[Message, Any, Any], int] | None = None,
        nulls: bool = True,
    ) -> Stream[str, V]: ...
    @overload
    def stream(
        self,
        topics: str | Sequence[str] | re.Pattern[str],
        value: Spec[V],
        *,
        key: Spec[K],
        timestamp: str | Callable[[V], int] | None = None,
        event_id: str | Callable[[V], str | None] | None = None,
        extract: Callable[[Message, Any, Any], int] | None = None,
        nulls: bool = True,
    ) -> Stream[K, V]: ...
    def stream(
        self,
        topics: Any,
        value: Any,
        *,
        key: Any = TEXT,
        timestamp: Any = None,
        event_id: Any = None,
        extract: Callable[[Message, Any, Any], int] | None = None,
        nulls: bool = True,
    ) -> Any:
        """Read one topic, or several topics with the same type of record, as a stream.

        Args:
            topics: One name, several names, or a compiled pattern that must match whole names. A pattern is resolved
                when the job starts. It leaves out the job's own topics and the topics that the job names explicitly.
            value: Type or format of the values.
            key: Type or format of the keys.
            timestamp: Field of the value, or function of it, that holds the event time in ms.
            event_id: Field of the value, or function of it, by which duplicates are dropped.
            extract: Function of the message, its key and its value that returns the event time in ms (Kafka Streams'
                TimestampExtractor).
            nulls: Whether records without a key or value are processed. If not, they go to `.errors`.
        """
        how = key, value, timestamp, event_id, extract
        if isinstance(topics, re.Pattern):
            return Stream(self.graph, self.graph.add(self._matching(topics.pattern, *how, is_nullable=nulls)))
        names = (topics,) if isinstance(topics, str) else tuple(topics)
        return Stream(self.graph, self.graph.add(self._source(names, *how, is_nullable=nulls)))

    @overload
    def table(
        self,
        topic: str,
        value: Spec[V],
        *,
        store: str,
        history_retention_ms: Duration | None = None,
        timestamp: str | Callable[[V], int] | None = None,
        event_id: str | Callable[[V], str | None] | None = None,
        check: Callable[[str, V], object] | None = None,
    ) -> Table[str, V]: ...
    @overload
    def table(
        self,
        topic: str,
        value: Spec[V],
        *,
        key: Spec[K],
        store: str,
        history_retention_ms: Duration | None = None,
        timestamp: str | Callable[[V], int] | None = None,
        event_id: str | Callable[[V], str | None] | None = None,
        check: Callable[[K, V], object] | None = None,
    ) -> Table[K, V]: ...
    def table(
        self,
        topic: str,
        value: Any,
        *,
        key: Any = TEXT,
        store: str,
        history_retention_ms: Duration | None = None,
        timestamp: Any = None,
        event_id: Any = None,
        check: Any = None,
    ) -> Any:
        """Read a topic as a table: the newest record of a key is its row.

        A record without a value deletes the row. The newest record is the last one in the topic; in a versioned table,
        it is the one with the latest timestamp.

        Args:
            topic: Name of the topic.
            value: Type or format of the values.
            key: Type or format of the keys.
            store: Name of the store that holds the rows.
            history_retention_ms: How long old versions of a row can be read. None: the table is not versioned.
            timestamp: Field of the value, or function of it, that holds the event time in ms.
            event_id: Field of the value, or function of it, by which duplicates are dropped.
            check: Function that is called with the key and value of each record. If it raises, the record goes to
                `.errors`.
        """
        source = self.graph.add(self._source((topic,), key, value, timestamp, event_id, is_table=True))
        # Check the records before they are stored. An exception then sends the record to `.errors` and leaves the row
        # unchanged.
        checked = source if check is None else Stream(self.graph, source).peek(_of_values(check)).node
        return Table(self.graph, self.graph.add(rows.table(checked, store, history_retention_ms, is_alone=True)))

    @overload
    def global_table(self, topic: str, value: Spec[V], *, store: str) -> GlobalTable[str, V]: ...
    @overload
    def global_table(self, topic: str, value: Spec[V], *, key: Spec[K], store: str) -> GlobalTable[K, V]: ...
    def global_table(self, topic: str, value: Any, *, key: Any = TEXT, store: str) -> Any:
        """Read a whole topic into every task, as a table that records with any key can be joined with.

        The records of a global table do not advance stream time.

        Args:
            topic: Name of the topic.
            value: Type or format of the values.
            key: Type or format of the keys.
            store: Name of the store that holds the rows.
        """
        source = self.graph.add(self._source((topic,), key, value, None, None, is_table=True, is_global=True))
        return GlobalTable(self.graph, self.graph.add(rows.global_table(source, store)))

    def _matching(self, pattern: str, *how: Any, is_nullable: bool) -> Node:
        try:
            check_pattern(pattern)
        except ValueError as error:
            raise TopologyError(str(error)) from error
        if any(node.pattern == pattern for node in self.graph.nodes):
            raise TopologyError(f"the pattern {pattern!r} is read already: keep what stream() gave there and use that")
        # The topics are looked up when the job starts. Until then, messages show the pattern.
        source = self._source((topic_part(pattern),), *how, is_nullable=is_nullable)
        return replace(source, topics=(), pattern=pattern)

    def _source(
        self,
        topics: tuple[str, ...],
        key: Any,
        value: Any,
        timestamp: Any,
        event_id: Any,
        extract: Any = None,
        **more: Any,
    ) -> Node:
        kind = format_or_refuse(value)
        for topic in topics:
            if not _TOPIC.fullmatch(topic):
                raise TopologyError(f"topic {topic!r}: a topic's name is 1 to 249 of A-Z a-z 0-9 . _ -")
        if not topics:
            raise TopologyError("a stream of no topics: name one")
        where = f"topic {topics[0]}"
        reading: Reading[Any] = Reading(_reader(timestamp, kind, where), _reader(event_id, kind, where), extract)
        name = topics[0] if len(topics) == 1 else " and ".join(topics)
        return Node(Kind.SOURCE, name, format_or_refuse(key), kind, topics=topics, reading=reading, **more)


def records_of_table(
    topology: Topology, topic: str, value: Spec[Any], key: Spec[Any], timestamp: Callable[[Any], int] | None
) -> Stream[Any, Any]:
    """Return a table topic's records as a stream, to be changed before to_table() stores them."""
    source = topology._source((topic,), key, value, timestamp, None, is_table=True)
    return Stream(topology.graph, topology.graph.add(source))


def _of_values(check: Callable[[Any, Any], object]) -> Callable[[Any, Any], object]:
    return lambda key, value: None if value is None else check(key, value)


def _reader(named: Any, kind: Format[Any], where: str) -> Callable[[Any], Any] | None:
    """Return a function that reads a field, or the given function. Raise TopologyError if there is no such field."""
    if named is None or callable(named):
        return named  # type: ignore[no-any-return]
    fields = fields_of(kind.type) if is_record_type(kind.type) else None
    if fields is not None and named not in fields:
        raise TopologyError(f"{where}: {kind.type.__name__} has no field {named!r}: name one of {', '.join(fields)}")
    if fields is None:
        raise TopologyError(f"{where}: {kind} values have no fields: give a function of the value")
    return attrgetter(named)


def job(settings: type[S], build: Callable[[S], Topology], *, may_end: bool = False, is_shared: bool = False) -> Job:
    """Return the job that runs the topology which `build` returns for the service's settings.

    Args:
        settings: Class of the service's settings.
        build: Function that returns the topology.
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
    found: Mapping[str, Sequence[str]],
) -> Job:
    built = BuiltTopology(build, found, is_shared=is_shared)
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
    """Return whether the table before a node is cached: as the store says that is nearest."""
    # A filter or a mapping of a table has no store. The cache of the table before it decides.
    while not node.stores and len(node.parents) == 1:
        (node,) = node.parents
    return node.stores[0].kept.caching if node.stores else None


def _outputs_where(sinks: Iterable[Node], holds: Callable[[Node], bool]) -> frozenset[str]:
    """Return the topics for which something holds of every sink."""
    sent: dict[str, bool] = {}
    for node in sinks:
        for topic in node.topics:
            # A topic with several sinks holds rows only if all of them send rows. Dropping earlier records of a key
            # would lose events of the other sinks.
            sent[topic] = sent.get(topic, True) and holds(node)
    return frozenset(topic for topic, are_rows in sent.items() if are_rows)
