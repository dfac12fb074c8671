"""Streams of a topology: records by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from forebay.builder import processors, rows, stateless
from forebay.builder.graph import Node, TopologyError
from forebay.builder.grouped import GroupedStream
from forebay.builder.joining import Joining
from forebay.builder.keys import on_keys, to_rows
from forebay.builder.partitions import spreading
from forebay.builder.specs import Spec
from forebay.builder.specs import format_or_refuse as _format
from forebay.builder.together import Side, bring_together, topic_part
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
    """Records by key. Every verb gives a new stream.

    Functions are called with key and value. A record with a null value passes filters and `map_values` as it is, and
    only `drop_nulls` leaves it out; verbs that make a key of the value drop it. Where a key changed, verbs that keep
    state by key repartition first.

    Args:
        is_rekeyed: whether the key may be another than the one records are partitioned by.
    """

    def filter(self, keeps: Callable[[K, V], bool]) -> Stream[K, V]:
        """Let through what `keeps` says yes to."""
        return self._same(stateless.filtered(self.node, "filter", on_keys(self.node.key, keeps), passes=True))

    def filter_not(self, drops: Callable[[K, V], bool]) -> Stream[K, V]:
        """Let through what `drops` says no to."""
        return self._same(stateless.filtered(self.node, "filter not", on_keys(self.node.key, drops), passes=False))

    def drop_nulls(self) -> Stream[K, V]:
        """Let through what has a value: Kafka Streams' `filter((key, value) -> value != null)`."""
        return self._same(stateless.with_values(self.node))

    def map_values(self, mapper: Callable[[K, V], O | None], into: Spec[O]) -> Stream[K, O]:
        """Change each value."""
        kind = _format(into)
        made = stateless.mapped_values(self.node, kind, on_keys(self.node.key, mapper))
        return Stream(self.graph, self.graph.add(made), self.is_rekeyed)

    def flat_map_values(self, mapper: Callable[[K, V], Iterable[O]], into: Spec[O]) -> Stream[K, O]:
        """Make any number of values of each."""
        made = stateless.flat_mapped(self.node, _format(into), on_keys(self.node.key, mapper))
        return Stream(self.graph, self.graph.add(made), self.is_rekeyed)

    def select_key(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> Stream[G, V]:
        """Return each record a new key.

        Args:
            key: what keys are: `str`, `int`, or another Format.
        """
        kind = _format(key)
        chosen = to_rows(kind, on_keys(self.node.key, key_of))
        made = stateless.rekeyed(self.node, "select key", kind, self.node.value, lambda k, v: [(chosen(k, v), v)])
        return Stream(self.graph, self.graph.add(made), True)

    def map(self, mapper: Callable[[K, V], tuple[G, O]], into: Spec[O], key: Spec[G]) -> Stream[G, O]:
        """Change key and value of each record."""
        kind, of_pair = _format(key), on_keys(self.node.key, mapper)
        row = to_rows(kind, lambda found: found)

        def pairs(text: Any, value: Any) -> Iterable[tuple[Any, Any]]:
            found, made = of_pair(text, value)
            return [(row(found), made)]

        return self._rekeyed("map", kind, _format(into), pairs)

    def flat_map(self, mapper: Callable[[K, V], Iterable[tuple[G, O]]], into: Spec[O], key: Spec[G]) -> Stream[G, O]:
        """Make any number of records, of key and value, of each."""
        kind, of_pairs = _format(key), on_keys(self.node.key, mapper)
        row = to_rows(kind, lambda found: found)

        def pairs(text: Any, value: Any) -> Iterable[tuple[Any, Any]]:
            return [(row(found), made) for found, made in of_pairs(text, value)]

        return self._rekeyed("flat map", kind, _format(into), pairs)

    def peek(self, action: Callable[[K, V], object]) -> Stream[K, V]:
        """Call `action` with each record, and let it through."""
        return self._same(stateless.peeked(self.node, on_keys(self.node.key, action)))

    def foreach(self, action: Callable[[K, V], object]) -> None:
        """Call `action` with each record; nothing follows."""
        self.peek(action)

    def print(self, label: str = "") -> None:
        """Print each record to standard output."""
        shown = label or self.node.name
        self.peek(lambda key, value: print(f"[{shown}]: {key}, {value}"))

    def merge(self, *others: Stream[K, V]) -> Stream[K, V]:
        """Return the records of several streams as one; there is no order between them. Raises TopologyError."""
        for other in others:
            _check_same(self.node, other.node, "merge()")
        names = (topic_part(f"{each.node.name}-merged") for each in (self, *others))
        sides = [Side(each.node, name) for each, name in zip((self, *others), names, strict=True)]
        made = stateless.merged(bring_together(self.graph, sides))
        return Stream(self.graph, self.graph.add(made), any(each.is_rekeyed for each in (self, *others)))

    def split(self) -> Split[K, V]:
        """Begin to split the stream: each record goes to the first branch that takes it."""
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
        """Run a processor on each record; what it forwards goes on, under any key, with the record's headers or others.

        Its stores belong to the topology. A record without value goes to its `removed`.

        Args:
            make: makes it, for each task anew.
            into: what values are; of several ways on: by the name that `ctx.forward(to=...)` chooses.
            name: before its timers' names; each processor needs its own.
            stores: names of stores it declares as a table or processor before it does, and works on together with it.
        """
        parent = self.keyed(name)
        kind = parent.key if key is None else _format(key)
        if not isinstance(into, Mapping):
            made = processors.processed(
                self.graph, parent, name, make, kind, _format(into), keeps_key=False, shared=stores
            )
            return Stream(self.graph, self.graph.add(made), True)
        made = processors.processed(
            self.graph, parent, name, make, kind, parent.value, keeps_key=False, children=tuple(into), shared=stores
        )
        node = self.graph.add(made)
        return {
            child: Stream(self.graph, self.graph.add(processors.child(node, child, _format(spec))), True)
            for child, spec in into.items()
        }

    def process_values(
        self, make: Callable[[], AnyProcessor], into: Spec[O], *, name: str, stores: Sequence[str] = ()
    ) -> Stream[K, O]:
        """Run a processor on each record as `process` does; what it forwards goes on under the record's key."""
        parent, kind = self.keyed(name), _format(into)
        made = processors.processed(self.graph, parent, name, make, parent.key, kind, keeps_key=True, shared=stores)
        return Stream(self.graph, self.graph.add(made))

    def deduplicate(self, id_of: Callable[[K, V], str | None], *, store: str, ttl_ms: Duration) -> Stream[K, V]:
        """Drop records whose id came with the same key within `ttl_ms` before."""
        parent = self.keyed(store)
        made = stateless.deduplicated(parent, on_keys(parent.key, id_of), store, ttl_ms)
        return Stream(self.graph, self.graph.add(made))

    def repartition(
        self, name: str, *, partitions: int = 0, partitioner: Callable[[K, V], int | None] | None = None
    ) -> Stream[K, V]:
        """Send the records through a repartition: each key to the task it belongs to.

        What is behind one with partitions or a partitioner of its own can't be joined with what is partitioned
        otherwise, and the job can't be given another number of tasks.

        Args:
            partitions: how many the records are spread over, as many tasks at most have them; 0: as many as tasks
                (Repartitioned.withNumberOfPartitions).
            partitioner: gives a number of key and value, whose rest by the number of partitions is the partition; by
                default the hash of the key.
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
        """Send the records to a topic, or each to the one of `topics` that a function chooses.

        Args:
            partitioner: gives the partition of key and value; None, and by default: the hash of the key.
        """
        chosen = None if partitioner is None else on_keys(self.node.key, partitioner)
        stateless.sink(self.graph, self.node, topic, topics, chosen)

    def to_table(self, *, store: str, history_retention_ms: Duration | None = None) -> Table[K, V]:
        """Keep the records as a table: the last one of a key counts, or with a history the latest by timestamp."""
        from forebay.builder.table import Table  # noqa: PLC0415 (streams and tables make each other)

        return Table(self.graph, self.graph.add(rows.table(self.keyed(store), store, history_retention_ms)))

    def group_by_key(self) -> GroupedStream[K, V]:
        """Group the records by their key."""
        return GroupedStream(self.graph, self.node, self.is_rekeyed)

    def group_by(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> GroupedStream[G, V]:
        """Group the records by a key made of each."""
        return self.select_key(key_of, key).group_by_key()

    def _rekeyed(self, name: str, key: Format[G], value: Format[O], pairs: Any) -> Stream[G, O]:
        return Stream(self.graph, self.graph.add(stateless.rekeyed(self.node, name, key, value, pairs)), True)

    def _same(self, node: Node) -> Stream[K, V]:
        return Stream(self.graph, self.graph.add(node), self.is_rekeyed)


class Split(Generic[K, V]):
    """Branches of a stream, in order."""

    def __init__(self, stream: Stream[K, V]) -> None:
        self._stream = stream
        self._branches: list[tuple[str, Callable[..., bool]]] = []

    def branch(self, name: str, takes: Callable[[K, V], bool]) -> Split[K, V]:
        """Add a branch for what `takes` says yes to and no branch before took."""
        if any(name == other for other, _ in self._branches):
            raise TopologyError(f"branch {name}: the name is used twice; give each its own")
        self._branches.append((name, on_keys(self._stream.node.key, takes)))
        return self

    def default_branch(self, name: str) -> dict[str, Stream[K, V]]:
        """Return the branches by name, the last one with what no other took."""
        return self._made([*self._branches, (name, None)])

    def no_default_branch(self) -> dict[str, Stream[K, V]]:
        """Return the branches by name; what none took is dropped."""
        return self._made(self._branches)

    def _made(self, branches: Sequence[tuple[str, Callable[..., bool] | None]]) -> dict[str, Stream[K, V]]:
        stream = self._stream
        found: dict[str, Stream[K, V]] = {}
        for number, (name, _) in enumerate(branches):
            before = [takes for _, takes in branches[:number] if takes is not None]
            node = stateless.branch(stream.node, name, before, branches[number][1])
            found[name] = Stream(stream.graph, stream.graph.add(node), stream.is_rekeyed)
        return found


def _check_same(one: Node, other: Node, what: str) -> None:
    if (one.key.name, one.value.name) != (other.key.name, other.value.name):
        raise TopologyError(
            f"{what}: one stream has {one.key} keys and {one.value} values, the other {other.key} and {other.value}; "
            "change one with map() or map_values() before"
        )
