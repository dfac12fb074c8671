"""Tables of a topology: the latest value of each key, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from forebay.builder import foreign, held, processors, rows
from forebay.builder.graph import Graph, Node, TopologyError
from forebay.builder.grouped import COUNT, check_fold, on_rows
from forebay.builder.joining import check_keys
from forebay.builder.joins import versions_of
from forebay.builder.keys import on_keys, to_rows
from forebay.builder.processors import ValueTransformer
from forebay.builder.specs import Spec, format_or_refuse
from forebay.builder.stream import Stream
from forebay.builder.together import Side, bring_together, first_that_runs, topic_part
from forebay.operators.folds import Fold, reducing
from forebay.operators.results import Join, Tombstones
from forebay.operators.suppress import Until, UntilWindowCloses, WhenFull
from forebay.stores.materialized import Materialized, beside
from forebay.time.durations import Duration
from forebay.time.windows import UnlimitedWindows

K = TypeVar("K")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
R = TypeVar("R")
G = TypeVar("G")
A = TypeVar("A")


class Table(Generic[K, V]):
    """Rows by key. Functions are called with key and value.

    A table that follows from others keeps no rows of its own, unless it is `materialized`: they are computed when they
    are looked up. A versioned table is no longer versioned once it is filtered or mapped.

    Args:
        knows_old: whether its changes tell the values they replace.
    """

    def __init__(self, graph: Graph, node: Node, knows_old: bool = True) -> None:
        self.graph = graph
        self.node = node
        self._knows_old = knows_old

    @property
    def name(self) -> str:
        """Name of the table's store; of a table without one: what it does."""
        return self.node.stores[0].name if self.node.stores else self.node.name

    def filter(self, keeps: Callable[[K, V], bool]) -> Table[K, V]:
        """Leave out what `keeps` says no to; a row that passes no longer is deleted."""
        return self._next(rows.filtered(self._with_old("filter"), "filter", on_keys(self.node.key, keeps)))

    def filter_not(self, drops: Callable[[K, V], bool]) -> Table[K, V]:
        """Leave out what `drops` says yes to; a row that passes no longer is deleted."""
        stays = on_keys(self.node.key, drops)
        node = self._with_old("filter_not")
        return self._next(rows.filtered(node, "filter not", lambda key, value: not stays(key, value)))

    def map_values(self, mapper: Callable[[K, V], O | None], into: Spec[O]) -> Table[K, O]:
        """Change each row's value."""
        node = rows.mapped(self.node, format_or_refuse(into), on_keys(self.node.key, mapper))
        return Table(self.graph, self.graph.add(node), self._knows_old)

    def transform_values(
        self,
        make: Callable[[], ValueTransformer[K, V, O]],
        into: Spec[O],
        *,
        store: str,
        stores: Sequence[str] = (),
    ) -> Table[K, O]:
        """Make each row anew with a transformer that may have stores of its own.

        Args:
            make: makes it, for each task anew.
            store: of the rows it makes.
            stores: names of stores it declares as a table or processor before it does, and works on together with it.
        """
        return self._next(processors.transformed(self.graph, self.node, make, format_or_refuse(into), store, stores))

    def join(self, other: Table[K, R], joiner: Callable[[V, R], O | None], into: Spec[O]) -> Table[K, O]:
        """Join two tables: rows of keys that both have."""
        return self._join(other, joiner, into, Join.INNER)

    def left_join(self, other: Table[K, R], joiner: Callable[[V, R | None], O | None], into: Spec[O]) -> Table[K, O]:
        """Join two tables: rows of this one's keys."""
        return self._join(other, joiner, into, Join.LEFT)

    def outer_join(
        self, other: Table[K, R], joiner: Callable[[V | None, R | None], O | None], into: Spec[O]
    ) -> Table[K, O]:
        """Join two tables: rows of keys that either has."""
        return self._join(other, joiner, into, Join.OUTER)

    def join_by_foreign_key(
        self,
        other: Table[G, R],
        foreign_key: Callable[[K, V], G | None],
        joiner: Callable[[V, R], O | None],
        into: Spec[O],
        *,
        store: str,
        tombstones: Tombstones = Tombstones.OF_ROWS,
    ) -> Table[K, O]:
        """Join each row with the other table's row of a key made of it; both may change and be deleted.

        Args:
            foreign_key: gives the other table's key of a row; None: the row has none, and the join has no row for it.
            store: of the joined rows; begins the names of the repartitions.
            tombstones: which deletions are sent on.
        """
        return self._join_foreign(other, foreign_key, joiner, into, Join.INNER, store, tombstones)

    def left_join_by_foreign_key(
        self,
        other: Table[G, R],
        foreign_key: Callable[[K, V], G | None],
        joiner: Callable[[V, R | None], O | None],
        into: Spec[O],
        *,
        store: str,
        tombstones: Tombstones = Tombstones.OF_ROWS,
    ) -> Table[K, O]:
        """Join as `join_by_foreign_key` does; a row without a row in the other table, or a foreign key, comes alone."""
        return self._join_foreign(other, foreign_key, joiner, into, Join.LEFT, store, tombstones)

    def group_by(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> GroupedTable[G, V]:
        """Group the rows by a key made of each; None: it belongs to no group."""
        kind = format_or_refuse(key)
        chosen = to_rows(kind, on_keys(self.node.key, key_of))

        def group(text: str, value: Any) -> tuple[str, Any] | None:
            found = chosen(text, value)
            return None if found is None else (found, value)

        node = rows.regrouped(self._with_old("group_by"), self.name, group, kind, self.node.value)
        return GroupedTable(self.graph, self.graph.add(node), self.node)

    def suppress(
        self,
        until: Until,
        *,
        store: str,
        max_records: int | None = None,
        max_bytes: int | None = None,
        when_full: WhenFull = WhenFull.EMIT_EARLY,
    ) -> Table[K, V]:
        """Hold updates back until a time limit is over or their window closes: the newest of each key comes.

        Args:
            max_records, max_bytes: limits of the buffer; None: unlimited.
            when_full: give the oldest update early, or stop the task.
        """
        if versions_of(self.node) is not None:
            raise TopologyError(
                f"{self.name}: a versioned table can't be suppressed: its late updates belong to earlier times; "
                "suppress an aggregate of it, or read it without history_retention_ms"
            )
        in_windows = isinstance(until, UntilWindowCloses)
        if in_windows and "windowed" not in self.node.key.name:
            raise TopologyError(
                f"{self.name}: updates without a window can't wait until it closes; use UntilTimeLimit, or aggregate "
                "with windowed_by() before"
            )
        if isinstance(until, UntilWindowCloses) and isinstance(until.windows, UnlimitedWindows):
            raise TopologyError(f"{self.name}: an unlimited window never closes; use UntilTimeLimit")
        node = held.suppressed(self.node, until, store, max_records, max_bytes, when_full)
        return Table(self.graph, self.graph.add(node), knows_old=in_windows)

    def materialized(self, store: str, history_retention_ms: Duration | None = None) -> Table[K, V]:
        """Keep the rows in a store of their own, which can be queried.

        Args:
            history_retention_ms: makes the table versioned, as the one it is filtered or mapped from; None: it is not.
        """
        if history_retention_ms is None:
            return Table(self.graph, self.graph.add(rows.kept(self.node, store)))
        return Table(self.graph, self.graph.add(rows.kept_versions(self.node, store, history_retention_ms)))

    def to_stream(self) -> Stream[K, V]:
        """Return the changes as a stream: new values, and null for a deleted row."""
        return Stream(self.graph, self.graph.add(rows.to_stream(self.node)))

    def _join(self, other: Table[K, Any], joiner: Any, into: Spec[O], kind: Join) -> Table[K, O]:
        check_keys(self.node, other.node, f"join {self.name} and {other.name}")
        tables = (self._with_old("join"), self.name), (other._with_old("join"), other.name)
        sides = [Side(node, topic_part(f"{name}-along"), is_table=True) for node, name in tables]
        left, right = bring_together(self.graph, sides)
        return self._next(rows.joined(left, right, joiner, format_or_refuse(into), kind))

    def _join_foreign(
        self,
        other: Table[G, Any],
        foreign_key: Any,
        joiner: Any,
        into: Spec[O],
        kind: Join,
        store: str,
        tombstones: Tombstones,
    ) -> Table[K, O]:
        if isinstance(store, Materialized) and not store.logging:
            raise TopologyError(f"store {store}: a join by foreign key needs its subscriptions back: logging=True")
        graph, made, right = self.graph, format_or_refuse(into), other._with_old("join_by_foreign_key")
        key_of = to_rows(right.key, on_keys(self.node.key, foreign_key))
        left = self._with_old("join_by_foreign_key")

        def subscribed_to(trial: Graph, table: Node) -> tuple[Node, Node]:
            subscribing = trial.add(foreign.subscribing(left, key_of, table.key, kind, store))
            return trial.repartition(subscribing, f"{store}-subscriptions"), table

        def to_copy(trial: Graph) -> tuple[Node, Node]:
            along = trial.repartition(trial.add(rows.to_stream(right)), f"{store}-right")
            return subscribed_to(trial, trial.add(rows.table(along, beside(store, "right"), None)))

        subscribed, right = first_that_runs(graph, [lambda trial: subscribed_to(trial, right), to_copy])
        answering = graph.add(foreign.answering(subscribed, right, joiner, made, kind, store, left.key))
        answers = graph.repartition(answering, f"{store}-answers")
        return self._next(foreign.answered(answers, made, store, tombstones))

    def _next(self, node: Node) -> Table[Any, Any]:
        return Table(self.graph, self.graph.add(node))

    def _with_old(self, verb: str) -> Node:
        if not self._knows_old:
            raise TopologyError(
                f"{self.name}: {verb}() needs the values that updates replace, which a suppressed table does not know; "
                "put .materialized(store=...) between"
            )
        return self.node


class GroupedTable(Generic[K, V]):
    """The rows of a table by group: a row that changes or goes is taken out of its former group's aggregate."""

    def __init__(self, graph: Graph, node: Node, table: Node) -> None:
        self._graph = graph
        self._node = node
        self._values = table.value

    def count(self, *, store: str) -> Table[K, int]:
        """Count the rows of each group."""
        return self.aggregate(COUNT, int, store=store)

    def reduce(self, reducer: Callable[[V, V], V], remover: Callable[[V, V], V], *, store: str) -> Table[K, V]:
        """Combine the rows of each group; `remover` is called with the aggregate and a value that leaves it."""
        return self.aggregate(reducing(reducer, remover), self._values, store=store)

    def aggregate(self, fold: Fold[V, A], into: Spec[A], *, store: str) -> Table[K, A]:
        """Fold the rows of each group: one that leaves is subtracted, one that enters added."""
        parent = self._graph.repartition(self._node, store)
        node = rows.grouped_aggregate(
            parent, on_rows(parent.key, check_fold(fold, "aggregate()")), format_or_refuse(into), store
        )
        return Table(self._graph, self._graph.add(node))


class GlobalTable(Generic[K, V]):
    """A table that every task has whole, so that records of any key can look it up."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node
