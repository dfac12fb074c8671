"""Streams of a topology: unbounded sequences of records with keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from forebay.builder import processors, rows, stateless
from forebay.builder.copartitioning import Side, bring_together, topic_part
from forebay.builder.grouped import GroupedStream
from forebay.builder.joining import Joining
from forebay.builder.keys import on_keys, to_rows
from forebay.builder.nodes import Node, TopologyError
from forebay.builder.partitions import spreading
from forebay.builder.specs import Spec
from forebay.builder.specs import format_or_refuse as _format
from forebay.builder.split import Split
from forebay.formats import Format
from forebay.processor.api import AnyProcessor
from forebay.time.durations import Duration

if TYPE_CHECKING:
    from forebay.builder.table import Table

K = TypeVar("K")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
G = TypeVar("G")


class Stream(Joining[K, V]):
    """An unbounded sequence of records with keys. Each operator returns a new stream.

    Functions are called with the key and the value. Filters and `map_values` forward records with a null value
    unchanged. `drop_nulls` drops these records, and so do operators that compute a key from the value. If an operator
    may have changed the key, the next operator that stores state by key repartitions the stream first.

    Args:
        is_rekeyed: Whether the next operator that stores state by key repartitions the records. Either their keys may
            differ from those that they are partitioned by, or their timestamps from those by which the task ordered
            them.
    """

    def filter(self, keeps: Callable[[K, V], bool]) -> Stream[K, V]:
        """Keep the records for which `keeps` returns true."""
        return self._same(stateless.filter_node(self.node, "filter", on_keys(self.node.key, keeps), passes=True))

    def filter_not(self, drops: Callable[[K, V], bool]) -> Stream[K, V]:
        """Drop the records for which `drops` returns true."""
        return self._same(stateless.filter_node(self.node, "filter not", on_keys(self.node.key, drops), passes=False))

    def drop_nulls(self) -> Stream[K, V]:
        """Drop records without a value, as Kafka Streams' `filter((key, value) -> value != null)` does."""
        return self._same(stateless.with_values(self.node))

    def map_values(self, mapper: Callable[[K, V], O | None], into: Spec[O]) -> Stream[K, O]:
        """Replace each value by the mapper's result.

        Args:
            mapper: Function of key and value. If it returns None, the new record has a null value.
            into: Type or format of the new values.
        """
        kind = _format(into)
        new_node = stateless.mapped_values(self.node, kind, on_keys(self.node.key, mapper))
        return Stream(self.graph, self.graph.add(new_node), self.is_rekeyed)

    def flat_map_values(self, mapper: Callable[[K, V], Iterable[O]], into: Spec[O]) -> Stream[K, O]:
        """Replace each record by any number of records with the same key.

        Args:
            mapper: Function of key and value that returns the new values.
            into: Type or format of the new values.
        """
        new_node = stateless.flat_mapped(self.node, _format(into), on_keys(self.node.key, mapper))
        return Stream(self.graph, self.graph.add(new_node), self.is_rekeyed)

    def select_key(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> Stream[G, V]:
        """Replace each record's key.

        Args:
            key_of: Function of key and value that returns the new key.
            key: Type or format of the new keys: `str`, `int`, a record or another Format.
        """
        kind = _format(key)
        chosen = to_rows(kind, on_keys(self.node.key, key_of))
        new_node = stateless.rekey_node(
            self.node, "select key", kind, self.node.value, lambda k, v: [(chosen(k, v), v)]
        )
        return Stream(self.graph, self.graph.add(new_node), True)

    def map(self, mapper: Callable[[K, V], tuple[G, O]], into: Spec[O], key: Spec[G]) -> Stream[G, O]:
        """Replace the key and value of each record.

        Args:
            mapper: Function of key and value that returns the new key and value.
            into: Type or format of the new values.
            key: Type or format of the new keys.
        """
        kind, of_pair = _format(key), on_keys(self.node.key, mapper)
        row = to_rows(kind, lambda key: key)

        def pairs(text: Any, value: Any) -> Iterable[tuple[Any, Any]]:
            new_key, new_value = of_pair(text, value)
            return [(row(new_key), new_value)]

        return self._rekey("map", kind, _format(into), pairs)

    def flat_map(self, mapper: Callable[[K, V], Iterable[tuple[G, O]]], into: Spec[O], key: Spec[G]) -> Stream[G, O]:
        """Replace each record by any number of records.

        Args:
            mapper: Function of key and value that returns pairs of new key and new value.
            into: Type or format of the new values.
            key: Type or format of the new keys.
        """
        kind, of_pairs = _format(key), on_keys(self.node.key, mapper)
        row = to_rows(kind, lambda key: key)

        def pairs(text: Any, value: Any) -> Iterable[tuple[Any, Any]]:
            return [(row(new_key), new_value) for new_key, new_value in of_pairs(text, value)]

        return self._rekey("flat map", kind, _format(into), pairs)

    def peek(self, action: Callable[[K, V], object]) -> Stream[K, V]:
        """Call `action` with the key and value of each record, and forward the record unchanged."""
        return self._same(stateless.peek_node(self.node, on_keys(self.node.key, action)))

    def foreach(self, action: Callable[[K, V], object]) -> None:
        """Call `action` with the key and value of each record, as the last operator of the stream."""
        self.peek(action)

    def print(self, label: str = "") -> None:
        """Print each record to standard output, preceded by `label` or, by default, the name of the operator before."""
        prefix = label or self.node.name
        self.peek(lambda key, value: print(f"[{prefix}]: {key}, {value}"))

    def merge(self, *others: Stream[K, V]) -> Stream[K, V]:
        """Merge streams of the same key and value types. The order between records of different streams is undefined.

        Raises:
            TopologyError: The types differ.
        """
        for other in others:
            _check_same(self.node, other.node, "merge()")
        names = (topic_part(f"{stream.node.name}-merged") for stream in (self, *others))
        sides = [Side(stream.node, name) for stream, name in zip((self, *others), names, strict=True)]
        new_node = stateless.merge_node(bring_together(self.graph, sides))
        return Stream(self.graph, self.graph.add(new_node), any(stream.is_rekeyed for stream in (self, *others)))

    def split(self) -> Split[K, V]:
        """Split the stream into branches. Each record goes to the first branch whose predicate is true."""
        return Split(self)

    @overload
    def process(
        self, make: Callable[[], AnyProcessor], into: Spec[O], key: Spec[G], *, name: str, stores: Sequence[str] = ()
    ) -> Stream[G, O]: ...
    @overload
    def process(
        self, make: Callable[[], AnyProcessor], into: Spec[O], *, name: str, stores: Sequence[str] = ()
    ) -> Stream[K, O]: ...
    @overload
    def process(
        self, make: Callable[[], AnyProcessor], into: Mapping[str, Spec[Any]], *, name: str, stores: Sequence[str] = ()
    ) -> dict[str, Stream[K, Any]]: ...
    def process(
        self, make: Callable[[], AnyProcessor], into: Any, key: Any = None, *, name: str, stores: Sequence[str] = ()
    ) -> Any:
        """Run a processor on each record.

        Forwarded records may have any key. They have the headers of the record that is being processed, unless the
        processor sets others. A record without a value is passed to `on_delete()`.

        Args:
            make: Function that returns a new processor. It is called once per task.
            into: Type or format of the forwarded values. If the processor chooses a child with `ctx.forward(to=NAME)`,
                a mapping from names to types. The result is then one stream per name.
            key: Type or format of the forwarded keys, if it differs from the input's.
            name: Name of the processor, unique in the topology. It prefixes the names of its timers.
            stores: Names of stores that another table or processor declares and this processor uses as well.

        Raises:
            TopologyError: A name is in use, a store is unknown, or `make` returns no processor.
        """
        parent = self.partition_by_key(name)
        kind = parent.key if key is None else _format(key)
        if not isinstance(into, Mapping):
            new_node = processors.processor_node(
                self.graph, parent, name, make, kind, _format(into), keeps_key=False, shared=stores
            )
            return Stream(self.graph, self.graph.add(new_node), True)
        new_node = processors.processor_node(
            self.graph, parent, name, make, kind, parent.value, keeps_key=False, children=tuple(into), shared=stores
        )
        node = self.graph.add(new_node)
        return {
            child: Stream(self.graph, self.graph.add(processors.child(node, child, _format(spec))), True)
            for child, spec in into.items()
        }

    def process_values(
        self, make: Callable[[], AnyProcessor], into: Spec[O], *, name: str, stores: Sequence[str] = ()
    ) -> Stream[K, O]:
        """Run a processor as `process` does, and forward its results with the key of the input record.

        The records are not repartitioned behind it. If it changes timestamps, call `repartition` before a window or
        join, which compare them with the stream time of the task.

        The arguments and errors are those of `process`.
        """
        parent, kind = self.partition_by_key(name), _format(into)
        new_node = processors.processor_node(
            self.graph, parent, name, make, parent.key, kind, keeps_key=True, shared=stores
        )
        return Stream(self.graph, self.graph.add(new_node))

    def deduplicate(self, id_of: Callable[[K, V], str | None], *, store: str, ttl_ms: Duration) -> Stream[K, V]:
        """Drop a record if one with the same key and id arrived within `ttl_ms` before it.

        Args:
            id_of: Function of key and value that returns the id. If it returns None, the record is kept.
            store: Name of the store that holds the ids.
            ttl_ms: How long an id is remembered, in ms or as a timedelta of event time.
        """
        parent = self.partition_by_key(store)
        new_node = stateless.deduplication_node(parent, on_keys(parent.key, id_of), store, ttl_ms)
        return Stream(self.graph, self.graph.add(new_node))

    def repartition(
        self, name: str, *, partitions: int = 0, partitioner: Callable[[K, V], int | None] | None = None
    ) -> Stream[K, V]:
        """Write the records to a repartition topic, so that each one reaches the task that owns its key.

        With `partitions` or `partitioner`, the result can't be joined with streams that are partitioned differently,
        and the job can't be rescaled.

        Args:
            name: Name of the repartition, unique in the topology.
            partitions: Number of parts into which the records are divided (Repartitioned.withNumberOfPartitions). Task
                p % tasks processes part p. 0: as many as there are tasks.
            partitioner: Function of key and value that returns a number; the partition is this number modulo the number
                of partitions. By default, the partition follows from the hash of the key.
        """
        chosen = None if partitioner is None else on_keys(self.node.key, partitioner)
        spread = spreading(self.node, chosen, name, partitions)
        return Stream(self.graph, self.graph.repartition(self.node, name, spread))

    def to(
        self,
        topic: str | Callable[[K, V], str],
        topics: Sequence[str] = (),
        partitioner: Callable[[K, V], int | None] | None = None,
    ) -> None:
        """Write the records to a topic.

        Args:
            topic: Name of the topic, or a function of key and value that returns one of `topics`.
            topics: All topics that the function may choose.
            partitioner: Function of key and value that returns the partition. If it is not set or returns None, the
                partition follows from the hash of the key.
        """
        chosen = None if partitioner is None else on_keys(self.node.key, partitioner)
        stateless.sink(self.graph, self.node, topic, topics, chosen)

    def to_table(self, *, store: str, history_retention_ms: Duration | None = None) -> Table[K, V]:
        """Store the records as a table. The newest record of a key is its row.

        Args:
            store: Name of the store that holds the rows.
            history_retention_ms: How long old versions of a row can be read. None: the table is not versioned.
        """
        from forebay.builder.table import Table  # noqa: PLC0415 (streams and tables make each other)

        return Table(self.graph, self.graph.add(rows.table(self.partition_by_key(store), store, history_retention_ms)))

    def group_by_key(self) -> GroupedStream[K, V]:
        """Group the records by their key."""
        return GroupedStream(self.graph, self.node, self.is_rekeyed)

    def group_by(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> GroupedStream[G, V]:
        """Group the records by a computed key.

        Args:
            key_of: Function of key and value that returns the new key. If it returns None, the record is in no group.
            key: Type or format of the new keys.
        """
        return self.select_key(key_of, key).group_by_key()

    def _rekey(self, name: str, key: Format[G], value: Format[O], pairs: Any) -> Stream[G, O]:
        return Stream(self.graph, self.graph.add(stateless.rekey_node(self.node, name, key, value, pairs)), True)

    def _same(self, node: Node) -> Stream[K, V]:
        return Stream(self.graph, self.graph.add(node), self.is_rekeyed)


def _check_same(one: Node, other: Node, what: str) -> None:
    if (one.key.name, one.value.name) != (other.key.name, other.value.name):
        raise TopologyError(
            f"{what}: one stream has {one.key} keys and {one.value} values, the other {other.key} and {other.value}; "
            "change one with map() or map_values() before"
        )
