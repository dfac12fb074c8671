"""Tables of a topology: joined with each other, grouped and aggregated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from forebay.builder.graph import Bound, Element, Graph, Kind, Made, Node, TopologyError
from forebay.builder.steps import Rows, stage_behind, step_of, table_of
from forebay.builder.stream import Stream
from forebay.operators.aggregate import TableAggregate
from forebay.operators.folds import Fold, counting
from forebay.operators.results import Join, Result
from forebay.operators.table import Change
from forebay.operators.table_table import JoinedTable, TableTableJoin
from forebay.processor.api import Context
from forebay.records import fields_of
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore

V = TypeVar("V")
R = TypeVar("R")
O = TypeVar("O")  # noqa: E741
A = TypeVar("A")


class Table(Generic[V]):
    """The latest value of each key."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self._graph = graph
        self.node = node

    @property
    def name(self) -> str:
        """Name of the table's store; of a joined table: of the join."""
        return self.node.stores[0].name if self.node.stores else self.node.name

    def rows(self) -> Rows:
        """Give the store that holds the rows. Raises TopologyError for a joined table: it has none."""
        for store in self.node.stores:
            if isinstance(store, (TimestampedKeyValueStore, VersionedKeyValueStore)):
                return store
        raise TopologyError(f"{self.name} keeps no rows: join the stream with its sides, one after the other")

    def join(
        self, other: Table[R], joiner: Callable[[V | None, R | None], O], into: type[O], *, kind: Join = Join.INNER
    ) -> Table[O]:
        """Join two tables: a table that follows both, computed when it is looked at.

        Args:
            joiner: called with both values; one of them is None where the join's kind allows it.
        """
        left, right = self.node, other.node
        if left is right:
            raise TopologyError(f"table {self.name}: a table can't be joined with itself; change its rows with map()")

        def make(bound: Bound) -> Made:
            sides = bound.table(left), bound.table(right)
            join = TableTableJoin(*sides, kind, joiner)

            def on_left(key: str, change: Any, timestamp: int, _ctx: Context[Any]) -> Iterable[Element]:
                return _changed(join.on_left(change))

            def on_right(key: str, change: Any, timestamp: int, _ctx: Context[Any]) -> Iterable[Element]:
                return _changed(join.on_right(change))

            return Made((on_left, on_right), table=JoinedTable(*sides, kind, joiner))

        name = f"join {self.name} and {other.name} ({kind.value})"
        node = Node(Kind.STEP, name, left.stage, into, (left, right), make=make)
        return Table(self._graph, self._graph.add(node))

    def group_by(self, name: str, key_of: Callable[[str, V], str | None], crossing: type[Any]) -> GroupedTable[V]:
        """Group the rows by a key made of each (None: it belongs to no group); changes are repartitioned by it.

        Args:
            name: of the repartition.
            crossing: what crosses it, a record with the fields old, new and timestamp; it needs a contract.
        """
        if set(fields_of(crossing)) != {"old", "new", "timestamp"}:
            raise TopologyError(
                f"repartition {name}: {crossing.__name__} must have the fields old, new (rows or null) and timestamp"
            )

        def step(key: str, change: Any, timestamp: int, _ctx: Context[Any]) -> Iterable[Element]:
            old = None if change.old is None else key_of(key, change.old)
            new = None if change.new is None else key_of(key, change.new)
            if old is not None and old == new:
                return [(old, crossing(old=change.old, new=change.new, timestamp=timestamp), timestamp)]
            left = [] if old is None else [(old, crossing(old=change.old, new=None, timestamp=timestamp), timestamp)]
            entered = [] if new is None else [(new, crossing(old=None, new=change.new, timestamp=timestamp), timestamp)]
            return left + entered

        made = Made((step,))
        grouped = Node(Kind.STEP, f"group {name}", self.node.stage, crossing, (self.node,), make=lambda _: made)
        return GroupedTable(self._graph, self._graph.repartition(self._graph.add(grouped), name))

    def changes(self) -> Stream[V]:
        """Give the table's changes as a stream: new values, and tombstones."""

        def step(key: str, change: Any, timestamp: int, _ctx: Context[Any]) -> Iterable[Element]:
            return [(key, change.new, timestamp)]

        made = Made((step,))
        node = Node(Kind.STEP, "changes", self.node.stage, self.node.record, (self.node,), make=lambda _: made)
        return Stream(self._graph, self._graph.add(node))


class GroupedTable(Generic[V]):
    """The rows of a table by group."""

    def __init__(self, graph: Graph, parent: Node) -> None:
        self._graph = graph
        self._parent = parent

    def count(self, into: type[A], *, store: str) -> Stream[A]:
        """Count the rows of each group in a record with one field, an int; every change goes on."""
        return self.aggregate(counting(into), into, store=store)

    def aggregate(self, fold: Fold[V, A], into: type[A], *, store: str) -> Stream[A]:
        """Fold the rows of each group: one that leaves is subtracted, one that enters added; every change goes on."""
        declared, subtract = TimestampedKeyValueStore(store, into), fold.subtract
        if subtract is None:
            raise TopologyError(f"store {store}: rows leave groups, but the fold has no subtract: give it one")

        def make(bound: Bound) -> Made:
            aggregate: TableAggregate[V, V, A] = TableAggregate(
                bound.store(declared), lambda key, row: (key, row), fold.initial, fold.add, subtract
            )

            class Changes:
                def process(self, key: str, value: Any, timestamp: int) -> list[Result[A]]:
                    return aggregate.process(Change(key, value.new, value.old, timestamp))

            return Made((step_of(Changes()),))

        name = f"aggregate to {into.__name__}"
        node = Node(Kind.STEP, name, stage_behind(self._parent), into, (self._parent,), (declared,), make)
        return Stream(self._graph, self._graph.add(node))


def table_node(source: Node, store: str, history_retention_ms: int | None) -> Node:
    """Give the node that keeps a topic's records as a table."""
    declared: Rows
    if history_retention_ms is None:
        declared = TimestampedKeyValueStore(store, source.record)
    else:
        declared = VersionedKeyValueStore(store, source.record, history_retention_ms=history_retention_ms)

    def make(bound: Bound) -> Made:
        own = bound.store(declared)
        table = table_of(own)

        def step(key: str, value: Any, timestamp: int, ctx: Context[Any]) -> Iterable[Element]:
            if isinstance(own, VersionedKeyValueStore):
                late_by = own.stream_time - own.history_retention_ms - timestamp
                if late_by > 0:
                    ctx.late(late_by)
            return _changed(table.update(key, value, timestamp))

        return Made((step,), table=table)

    return Node(Kind.STEP, f"table {store}", 0, source.record, (source,), (declared,), make)


def _changed(change: Change[Any] | None) -> list[Element]:
    return [] if change is None else [(change.key, change, change.timestamp)]
