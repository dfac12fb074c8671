"""Streams of a topology and their windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from forebay.builder import steps
from forebay.builder.graph import Bound, Graph, Kind, Made, Node, TopologyError
from forebay.builder.steps import Operator, stage_behind
from forebay.operators.deduplicate import Deduplicate
from forebay.operators.folds import Fold, counting, reducing
from forebay.operators.results import Emission, Join
from forebay.operators.stateless import Filter, FlatMap, Map, Rekey
from forebay.operators.stream import StreamAggregate
from forebay.stores.binding import Store
from forebay.stores.keys import join_key
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.time.sessions import SessionWindows
from forebay.time.windows import TimeWindows, Window

if TYPE_CHECKING:
    from forebay.builder.table import Table

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
R = TypeVar("R")
A = TypeVar("A")


class Stream(Generic[V]):
    """Records by key. Every verb gives a new stream; `into` is the class of the values that come out.

    Verbs that keep state by key, behind a rekey, begin a new stage: the records are repartitioned before them.
    """

    def __init__(self, graph: Graph, node: Node, rekeyed: str = "") -> None:
        self._graph = graph
        self._node = node
        self._rekeyed = rekeyed

    def filter(self, keeps: Callable[[str, V], bool]) -> Stream[V]:
        """Let through what `keeps` (called with key and value) says yes to."""
        return self._stateless("filter", self._node.record, Filter(keeps))

    def map(self, mapper: Callable[[str, V], O], into: type[O]) -> Stream[O]:
        """Change each value."""
        return self._stateless(f"map to {into.__name__}", into, Map(mapper))

    def flat_map(self, mapper: Callable[[str, V], Iterable[O]], into: type[O]) -> Stream[O]:
        """Make any number of values of each."""
        return self._stateless(f"map to any number of {into.__name__}", into, FlatMap(mapper))

    def rekey(self, name: str, key_of: Callable[[str, V], str]) -> Stream[V]:
        """Give each record a new key.

        Args:
            name: of the repartition, if one is needed.
        """
        stream: Stream[V] = self._stateless(f"rekey {name}", self._node.record, Rekey(key_of))
        stream._rekeyed = name
        return stream

    def repartition(self) -> Stream[V]:
        """Begin the new stage that a rekey asks for here, not only before a verb that keeps state.

        So several streams, each with a filter or a key of its own, can follow one repartition.
        """
        return Stream(self._graph, self._repartitioned())

    def deduplicate(self, id_of: Callable[[str, V], str | None], *, store: str, ttl_ms: int) -> Stream[V]:
        """Drop records whose id came with the same key within `ttl_ms` before."""
        parent = self._repartitioned()
        declared = TtlKeyValueStore(store, parent.record, ttl_ms)

        def ident(key: str, value: V) -> str | None:
            own = id_of(key, value)
            return None if own is None else join_key(key, own)

        def operator(bound: Bound) -> Operator:
            return Deduplicate(bound.store(declared), ident)

        return self._stateful("deduplicate", parent, parent.record, declared, operator)

    def count(self, into: type[A], *, store: str) -> Stream[A]:
        """Count the records of each key in a record with one field, an int; every change goes on."""
        return self.aggregate(counting(into), into, store=store)

    def reduce(self, reducer: Callable[[V, V], V], *, store: str) -> Stream[V]:
        """Combine the records of each key; every change goes on."""
        return self.aggregate(reducing(reducer), self._node.record, store=store)

    def aggregate(self, fold: Fold[V, A], into: type[A], *, store: str) -> Stream[A]:
        """Fold the records of each key; every change goes on."""
        declared = TimestampedKeyValueStore(store, into)

        def operator(bound: Bound) -> Operator:
            return StreamAggregate(bound.store(declared), fold)

        return self._stateful(f"aggregate to {into.__name__}", self._repartitioned(), into, declared, operator)

    def window(self, windows: TimeWindows | SessionWindows) -> Windowed[V]:
        """Cut the records of each key into windows."""
        return Windowed(self._graph, self._repartitioned(), windows)

    def join(
        self,
        table: Table[R],
        joiner: Callable[[V, R | None], O],
        into: type[O],
        *,
        kind: Join = Join.INNER,
        grace_ms: int = 0,
        waiting: str = "",
    ) -> Stream[O]:
        """Join each record with the table's row of its key, as of the record's time if the table is versioned.

        Args:
            joiner: called with both values; the row is None in a left join without one.
            grace_ms: how long a record waits for late updates of a versioned table.
            waiting: name of the store that holds waiting records; needed with a grace.
        """
        parent = self._repartitioned()
        if stage_behind(parent) != table.node.stage:
            raise TopologyError(
                f"table {table.name} is read in stage {table.node.stage}, the stream was repartitioned into stage "
                f"{stage_behind(parent)}: a task would look for rows it does not have; join before the rekey"
            )
        node = steps.table_join(parent, table.rows(), joiner, into, kind, grace_ms, waiting)
        return Stream(self._graph, self._graph.add(node))

    def to(self, topic: str) -> None:
        """Send the records to a topic."""
        self._graph.add(Node(Kind.SINK, topic, stage_behind(self._node), self._node.record, (self._node,)))

    def _stateless(self, name: str, record: type[O], operator: Operator) -> Stream[O]:
        made = Made((steps.step_of(operator),))
        node = Node(Kind.STEP, name, stage_behind(self._node), record, (self._node,), make=lambda _: made)
        return Stream(self._graph, self._graph.add(node), self._rekeyed)

    def _stateful(
        self, name: str, parent: Node, record: type[O], store: Store[Any], operator: Callable[[Bound], Operator]
    ) -> Stream[O]:
        def make(bound: Bound) -> Made:
            return Made((steps.step_of(operator(bound)),))

        return Stream(
            self._graph,
            self._graph.add(Node(Kind.STEP, name, stage_behind(parent), record, (parent,), (store,), make)),
        )

    def _repartitioned(self) -> Node:
        return self._graph.repartition(self._node, self._rekeyed) if self._rekeyed else self._node


class Windowed(Generic[V]):
    """Records by key and window."""

    def __init__(self, graph: Graph, parent: Node, windows: TimeWindows | SessionWindows) -> None:
        self._graph = graph
        self._parent = parent
        self._windows = windows

    def aggregate(
        self,
        fold: Fold[V, A],
        aggregate: type[A],
        result: Callable[[str, Window, A], O],
        into: type[O],
        *,
        store: str,
        emission: Emission = Emission.FINAL,
        retention_ms: int = 0,
    ) -> Stream[O]:
        """Fold the records of each window; windows of time give results on change, on close or both, sessions on close.

        Args:
            result: makes what goes on, of key, window and aggregate.
            retention_ms: how long windows are kept; 0: as long as they may change.
        """
        node = steps.windowed(self._parent, self._windows, fold, aggregate, result, into, store, emission, retention_ms)
        return Stream(self._graph, self._graph.add(node))
