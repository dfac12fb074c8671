"""Tables of a topology: the current row of each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from forebay.builder import foreign, processors, regrouping, rows, suppression
from forebay.builder.copartitioning import Side, bring_together, first_that_runs, topic_part
from forebay.builder.graph import Graph
from forebay.builder.grouped_table import GroupedTable
from forebay.builder.joining import check_keys
from forebay.builder.joins import versions_of
from forebay.builder.keys import on_keys, to_rows
from forebay.builder.nodes import Node, TopologyError
from forebay.builder.processors import ValueTransformer
from forebay.builder.specs import Spec, format_or_refuse
from forebay.builder.stream import Stream
from forebay.operators.results import Join, Tombstones
from forebay.operators.suppress import Until, UntilWindowCloses, WhenFull
from forebay.stores.materialized import Materialized, derived_store
from forebay.time.durations import Duration
from forebay.time.windows import UnlimitedWindows
from forebay.utils.names import LONGEST_STORE

K = TypeVar("K")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
R = TypeVar("R")
G = TypeVar("G")
A = TypeVar("A")


class Table(Generic[K, V]):
    """A table, which has the current row of each key. Functions are called with the key and the value.

    A table that is derived from others stores its rows only if it is `materialized`. Otherwise they are computed when
    they are read. The result of a filter or mapping of a versioned table is not versioned.

    Args:
        knows_old: Whether its changes contain the values that they replace.
    """

    def __init__(self, graph: Graph, node: Node, knows_old: bool = True) -> None:
        self.graph = graph
        self.node = node
        self._knows_old = knows_old

    @property
    def name(self) -> str:
        """Name of the table's store or, if it has none, of its operator."""
        return self.node.stores[0].name if self.node.stores else self.node.name

    def filter(self, keeps: Callable[[K, V], bool]) -> Table[K, V]:
        """Keep the rows for which `keeps` returns true. A row that no longer passes is deleted."""
        return self._next(rows.filter_node(self._with_old("filter"), "filter", on_keys(self.node.key, keeps)))

    def filter_not(self, drops: Callable[[K, V], bool]) -> Table[K, V]:
        """Drop the rows for which `drops` returns true. A row that no longer passes is deleted."""
        stays = on_keys(self.node.key, drops)
        node = self._with_old("filter_not")
        return self._next(rows.filter_node(node, "filter not", lambda key, value: not stays(key, value)))

    def map_values(self, mapper: Callable[[K, V], O | None], into: Spec[O]) -> Table[K, O]:
        """Replace each row's value by the mapper's result.

        Args:
            mapper: Function of key and value. If it returns None, the result has no row for this key.
            into: Type or format of the new values.
        """
        node = rows.map_node(self.node, format_or_refuse(into), on_keys(self.node.key, mapper))
        return Table(self.graph, self.graph.add(node), self._knows_old)

    def transform_values(
        self,
        make: Callable[[], ValueTransformer[K, V, O]],
        into: Spec[O],
        *,
        store: str,
        stores: Sequence[str] = (),
    ) -> Table[K, O]:
        """Compute each row's value with a transformer that can use stores.

        Args:
            make: Function that returns a new transformer. It is called once per task.
            into: Type or format of the new values.
            store: Name of the store that holds the resulting rows.
            stores: Names of stores that another table or processor declares and this transformer uses as well.
        """
        return self._next(
            processors.transformer_node(self.graph, self.node, make, format_or_refuse(into), store, stores)
        )

    def join(self, other: Table[K, R], joiner: Callable[[V, R], O | None], into: Spec[O]) -> Table[K, O]:
        """Join two tables. The result has a row for each key that is in both tables.

        Args:
            other: Table with the same type of keys.
            joiner: Function of both values that returns the joined value. If it returns None, the result has no row for
                this key.
            into: Type or format of the joined values.
        """
        return self._join(other, joiner, into, Join.INNER)

    def left_join(self, other: Table[K, R], joiner: Callable[[V, R | None], O | None], into: Spec[O]) -> Table[K, O]:
        """Join as `join` does. The result has a row for each key of this table.

        The joiner is called with None in place of a missing row of the other table.
        """
        return self._join(other, joiner, into, Join.LEFT)

    def outer_join(
        self, other: Table[K, R], joiner: Callable[[V | None, R | None], O | None], into: Spec[O]
    ) -> Table[K, O]:
        """Join as `join` does. The result has a row for each key that is in at least one of the tables.

        The joiner is called with None in place of the missing row.
        """
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
        """Join each row with the row of another table to which it refers. Changes of both tables update the result.

        Args:
            other: Table to which the rows refer.
            foreign_key: Function of key and value that returns a key of the other table. If it returns None, the result
                has no row for this key.
            joiner: Function of both values that returns the joined value.
            into: Type or format of the joined values.
            store: Name of the store of the joined rows. It prefixes the names of the repartition topics.
            tombstones: Which deletions are forwarded.
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
        """Join as `join_by_foreign_key` does, and keep rows without a match or a foreign key.

        The joiner is called with None in place of the missing row.
        """
        return self._join_foreign(other, foreign_key, joiner, into, Join.LEFT, store, tombstones)

    def group_by(self, key_of: Callable[[K, V], G | None], key: Spec[G]) -> GroupedTable[G, V]:
        """Group the rows by a computed key.

        Args:
            key_of: Function of key and value that returns the group. If it returns None, the row is in no group.
            key: Type or format of the groups' keys.
        """
        kind = format_or_refuse(key)
        chosen = to_rows(kind, on_keys(self.node.key, key_of))

        def group(text: str, value: Any) -> tuple[str, Any] | None:
            group_key = chosen(text, value)
            return None if group_key is None else (group_key, value)

        node = regrouping.regroup_node(self._with_old("group_by"), self.name, group, kind, self.node.value)
        return GroupedTable(self.graph, self.graph.add(node), self.node)

    def suppress(
        self,
        until: Until,
        *,
        store: str,
        max_records: int | None = None,
        max_bytes: int | None = None,
        when_full: WhenFull | None = None,
    ) -> Table[K, V]:
        """Hold back updates until a time limit passes or their window closes, and then emit the newest one of each key.

        Args:
            until: When to emit: `UntilTimeLimit` or `UntilWindowCloses`.
            store: Name of the store that buffers the updates.
            max_records: Limit of the buffer, in records. None: unlimited.
            max_bytes: Limit of the buffer, in bytes. None: unlimited.
            when_full: What a full buffer does. `EMIT_EARLY`, the default with a time limit, emits the oldest update.
                `SHUT_DOWN`, the only choice if results are final when their window closes, refuses the record.

        Raises:
            TopologyError: The table is versioned, or `until` does not fit its keys, its windows or `when_full`.
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
        if isinstance(until, UntilWindowCloses):
            suppression.check_closing(self.node, until, self.name)
        if in_windows and when_full is WhenFull.EMIT_EARLY and (max_records is not None or max_bytes is not None):
            raise TopologyError(
                f"{self.name}: results that are emitted early are not final; use WhenFull.SHUT_DOWN, or UntilTimeLimit"
            )
        full = when_full or (WhenFull.SHUT_DOWN if in_windows else WhenFull.EMIT_EARLY)
        node = suppression.suppression_node(self.node, until, store, max_records, max_bytes, full)
        return Table(self.graph, self.graph.add(node), knows_old=in_windows)

    def materialized(self, store: str, history_retention_ms: Duration | None = None) -> Table[K, V]:
        """Store the rows, so that they can be queried.

        Args:
            store: Name of the store.
            history_retention_ms: How long old versions of a row can be read, if the table that this one was filtered or
                mapped from is versioned. None: the table is not versioned.
        """
        if history_retention_ms is None:
            return Table(self.graph, self.graph.add(rows.stored_rows(self.node, store)))
        return Table(self.graph, self.graph.add(rows.kept_versions(self.node, store, history_retention_ms)))

    def to_stream(self) -> Stream[K, V]:
        """Return the table's changes as a stream: the new value, or None for a deleted row."""
        return Stream(self.graph, self.graph.add(rows.to_stream(self.node)))

    def _join(self, other: Table[K, Any], joiner: Any, into: Spec[O], kind: Join) -> Table[K, O]:
        check_keys(self.node, other.node, f"join {self.name} and {other.name}")
        tables = (self.with_rows(), self.name), (other.with_rows(), other.name)
        sides = [Side(node, topic_part(f"{name}-along"), is_table=True) for node, name in tables]
        left, right = bring_together(self.graph, sides)
        return self._next(rows.join_node(left, right, joiner, format_or_refuse(into), kind))

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
            raise TopologyError(
                f"store {store}: a foreign-key join must restore its subscriptions from a changelog: set logging=True"
            )
        graph, format_, right = self.graph, format_or_refuse(into), other.with_rows()
        key_of = to_rows(right.key, on_keys(self.node.key, foreign_key))
        left = self.node if self._knows_old else self.with_rows()

        def subscribed_to(trial: Graph, table: Node) -> tuple[Node, Node]:
            subscribing = trial.add(foreign.subscribing(left, key_of, table.key, kind, store))
            return trial.repartition(subscribing, f"{store}-subscriptions"), table

        def to_copy(trial: Graph) -> tuple[Node, Node]:
            copy = derived_store(store, "right")
            along = trial.repartition(trial.add(rows.to_stream(right, [copy])), f"{store}-right")
            return subscribed_to(trial, trial.add(rows.table(along, copy, None, is_copy=True)))

        subscribed, right = first_that_runs(graph, [lambda trial: subscribed_to(trial, right), to_copy])
        answering = graph.add(foreign.answering(subscribed, right, joiner, format_, kind, store, left.key))
        answers = graph.repartition(answering, f"{store}-answers")
        return self._next(foreign.answer_node(answers, format_, store, tombstones))

    def _next(self, node: Node) -> Table[Any, Any]:
        return Table(self.graph, self.graph.add(node))

    def with_rows(self) -> Node:
        """Return a node whose rows can be looked up. It stores the rows of a suppressed table under their own name."""
        if self._knows_old and rows.has_rows(self.node):
            return self.node
        stored = self.graph.stored.get(self.node)
        if stored is None:
            store = self.graph.unused_name(topic_part(f"{self.name}-rows"), LONGEST_STORE)
            stored = self.graph.stored[self.node] = self.graph.add(rows.stored_rows(self.node, store))
        return stored

    def _with_old(self, verb: str) -> Node:
        # Without old values, the rows that leave a group can't be subtracted from it.
        if not self._knows_old:
            raise TopologyError(
                f"{self.name}: {verb}() needs the previous values of rows, which a suppressed "
                "table does not have: call .materialized(store=...) first"
            )
        return self.node


class GlobalTable(Generic[K, V]):
    """A table whose rows are all in every task, so that records with any key can be joined with it."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node
