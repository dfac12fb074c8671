"""Tables grouped by another key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from forebay.builder import regrouping
from forebay.builder.graph import Graph
from forebay.builder.grouped import COUNT, check_fold, on_rows
from forebay.builder.nodes import Node
from forebay.builder.specs import Spec, format_or_refuse
from forebay.operators.folds import Fold, reducing

if TYPE_CHECKING:
    from forebay.builder.table import Table

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class GroupedTable(Generic[K, V]):
    """The rows of a table, grouped by a computed key.

    If a row changes or is deleted, its old value is subtracted from the aggregate of its previous group.
    """

    def __init__(self, graph: Graph, node: Node, table: Node) -> None:
        self._graph = graph
        self.node = node
        self._values = table.value

    def count(self, *, store: str) -> Table[K, int]:
        """Count the rows of each group."""
        return self.aggregate(COUNT, int, store=store)

    def reduce(self, reducer: Callable[[V, V], V], remover: Callable[[V, V], V], *, store: str) -> Table[K, V]:
        """Combine the rows of each group.

        Args:
            reducer: Function of the aggregate and a value that enters the group.
            remover: Function of the aggregate and a value that leaves the group.
            store: Name of the store that holds the aggregates.
        """
        return self.aggregate(reducing(reducer, remover), self._values, store=store)

    def aggregate(self, fold: Fold[V, A], into: Spec[A], *, store: str) -> Table[K, A]:
        """Aggregate the rows of each group. The fold adds rows that enter the group and subtracts rows that leave it.

        Args:
            fold: Initial aggregate and functions that add and subtract a row.
            into: Type or format of the aggregates.
            store: Name of the store that holds the aggregates.
        """
        from forebay.builder.table import Table  # noqa: PLC0415 (a table makes its groups, and their aggregates are tables)

        parent = self._graph.repartition(self.node, store)
        node = regrouping.grouped_aggregate(
            parent, on_rows(parent.key, check_fold(fold, "aggregate()")), format_or_refuse(into), store
        )
        self.node.filled.append(store)
        return Table(self._graph, self._graph.add(node))
