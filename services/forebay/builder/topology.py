"""Topologies and their sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar, overload

from forebay.builder import rows
from forebay.builder.copartitioning import topic_part
from forebay.builder.graph import Graph
from forebay.builder.nodes import Kind, Node, TopologyError
from forebay.builder.notebook_view import Shown
from forebay.builder.specs import Spec, format_or_refuse
from forebay.builder.stream import Stream
from forebay.builder.table import GlobalTable, Table
from forebay.formats import TEXT, Format
from forebay.processor.api import Reading
from forebay.processor.messages import Message
from forebay.records import fields_of, is_record_type
from forebay.time.durations import Duration, ms_of
from forebay.utils.names import check_pattern

K = TypeVar("K")
V = TypeVar("V")

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Topology(Shown):
    """A description of streams, tables, the operators between them, and the topics that receive the results.

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
        """Function that returns the counters of the topology's functions (see Processor.figures)."""
        self.has_ended: Callable[[str], bool] | None = None
        """Function that returns whether a store's rows are deleted, because nothing can declare the store again."""

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
        extract: Callable[[Message, Any, Any], int] | None = None,
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
        extract: Callable[[Message, Any, Any], int] | None = None,
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
        extract: Callable[[Message, Any, Any], int] | None = None,
        check: Any = None,
    ) -> Any:
        """Read a topic as a table. The newest record of a key is its row.

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
            extract: Function of the message, its key and its value that returns the event time in ms, as in `stream`.
            check: Function that is called with the key and value of each record. If it raises, the record goes to
                `.errors`.
        """
        source = self.graph.add(self._source((topic,), key, value, timestamp, event_id, extract, is_table=True))
        # Check the records before they are stored. An exception then sends the record to `.errors` and leaves the row
        # unchanged.
        checked = source if check is None else Stream(self.graph, source).peek(_of_values(check)).node
        return Table(self.graph, self.graph.add(rows.table(checked, store, history_retention_ms, is_alone=True)))

    @overload
    def global_table(self, topic: str, value: Spec[V], *, store: str) -> GlobalTable[str, V]: ...
    @overload
    def global_table(self, topic: str, value: Spec[V], *, key: Spec[K], store: str) -> GlobalTable[K, V]: ...
    def global_table(self, topic: str, value: Any, *, key: Any = TEXT, store: str) -> Any:
        """Read a whole topic into every task, as a table with which records of any key can be joined.

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
            raise TopologyError(f"the pattern {pattern!r} is read already: use the stream that stream() returned there")
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
                raise TopologyError(f"topic {topic!r}: a topic's name has 1 to 249 characters of A-Z a-z 0-9 . _ -")
        if not topics:
            raise TopologyError("stream() needs at least one topic")
        where = f"topic {topics[0]}"
        reading: Reading[Any] = Reading(_reader(timestamp, kind, where), _reader(event_id, kind, where), extract)
        name = topics[0] if len(topics) == 1 else " and ".join(topics)
        return Node(Kind.SOURCE, name, format_or_refuse(key), kind, topics=topics, reading=reading, **more)


def records_of_table(
    topology: Topology, topic: str, value: Spec[Any], key: Spec[Any], timestamp: Callable[[Any], int] | None
) -> Stream[Any, Any]:
    """Return the records of a table's topic as a stream, so that they can be changed before to_table() stores them."""
    source = topology._source((topic,), key, value, timestamp, None, is_table=True)
    return Stream(topology.graph, topology.graph.add(source))


def _of_values(check: Callable[[Any, Any], object]) -> Callable[[Any, Any], object]:
    return lambda key, value: None if value is None else check(key, value)


def _reader(named: Any, kind: Format[Any], where: str) -> Callable[[Any], Any] | None:
    """Return a function that reads a field. If `named` is a function, return it.

    Raises:
        TopologyError: The values have no such field.
    """
    if named is None or callable(named):
        return named  # type: ignore[no-any-return]
    fields = fields_of(kind.type) if is_record_type(kind.type) else None
    if fields is not None and named not in fields:
        raise TopologyError(f"{where}: {kind.type.__name__} has no field {named!r}: name one of {', '.join(fields)}")
    if fields is None:
        raise TopologyError(f"{where}: {kind} values have no fields: pass a function of the value")
    return attrgetter(named)
