"""Co-partitioning of the inputs of a join, so that they can run in one sub-topology.

Kafka Streams lets a sub-topology read its own repartition topic. Here, a sub-topology waits for the time of its
senders, so sub-topologies can't send to each other in a cycle. If one side is behind a repartition and the other is
before it, the other side is repartitioned as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from forebay.builder import rows
from forebay.builder.components import can_meet
from forebay.builder.graph import Graph
from forebay.builder.joins import versions_of
from forebay.builder.nodes import History, Kind, Node
from forebay.utils.names import LONGEST_REPARTITION, LONGEST_STORE

Plan = Callable[[Graph], tuple[Node, ...]]
"""Adds the nodes that it needs to a graph, and returns the nodes to be joined."""


class Side(NamedTuple):
    """A side of a join.

    Args:
        node: Node of the side.
        name: Name of its repartition, if it needs one.
        is_table: Whether the side is a table.
    """

    node: Node
    name: str
    is_table: bool = False

    def along(self, graph: Graph, *, is_own: bool) -> Node:
        """Return a node with the same records or rows behind a repartition by key.

        Args:
            is_own: Whether a table must have a separate copy, which no other join uses.
        """
        if self.is_table:
            return table_along(graph, self.node, self.name, is_own=is_own)
        if self.node.kind is Kind.REPARTITION and self.node.partitioner is None:
            return self.node
        return graph.repartition(self.node, graph.unused_name(self.name, LONGEST_REPARTITION))


def first_that_runs(graph: Graph, plans: Sequence[Plan]) -> tuple[Node, ...]:
    """Return the nodes of the first plan whose nodes are co-partitioned and can run in one sub-topology.

    If there is no such plan, return the nodes of the first plan.
    """
    for plan in plans:
        # A plan adds nodes. Try it on a copy, so that a plan that does not work leaves no unused repartition behind.
        trial = graph.copy()
        nodes = plan(trial)
        if _are_alike(nodes) and can_meet(trial, nodes):
            return plan(graph)
    return plans[0](graph)


def bring_together(graph: Graph, sides: Sequence[Side]) -> tuple[Node, ...]:
    """Return nodes of the sides that can run in one sub-topology, repartitioning as few sides as possible."""
    numbers = range(len(sides))
    # Try the fewest repartitions first, because each is another topic to write and read.
    ways: list[tuple[int, ...]] = [(), *((number,) for number in numbers), tuple(numbers)]

    def plan_of(way: tuple[int, ...], *, is_own: bool) -> Plan:
        return lambda trial: tuple(
            side.along(trial, is_own=is_own) if number in way else side.node for number, side in enumerate(sides)
        )

    # An existing copy of a table may run in a sub-topology before the other side. A second copy can run after it.
    plans = [plan_of(way, is_own=is_own) for is_own in (False, True) for way in ways]
    return first_that_runs(graph, plans)


def table_along(graph: Graph, table: Node, name: str, *, is_own: bool = False) -> Node:
    """Return a copy of a table behind a repartition, with the table's history.

    Args:
        is_own: Whether to create a separate copy. If not, the joins of a table share one.
    """
    node = None if is_own else graph.copies.get(table)
    if node is None:
        versions = versions_of(table)
        name = graph.unused_name(name, LONGEST_STORE)
        stream = rows.to_stream(table, [name])
        if versions is not None:
            # The copy must receive late changes, too. Otherwise a record would be joined with another version than in
            # the original table.
            stream = replace(stream, history=History.KEEPS)
        # The copy's store has the name of the repartition.
        sent = graph.repartition(graph.add(stream), name)
        history = None if versions is None else versions.history_retention_ms
        repartitioned_table = rows.table(sent, sent.name, history, is_copy=True)
        node = graph.add(repartitioned_table)
        graph.copies.setdefault(table, node)
    return node


def topic_part(name: str) -> str:
    """Return a name in which characters that are not allowed in a topic's name are replaced by hyphens."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _are_alike(nodes: Sequence[Node]) -> bool:
    """Return whether equal keys of the nodes are in one task.

    Before a repartition, a windowed key is in the task of its key alone. After it, the window counts, too.
    """
    return len({(node.key.name, node.key.owner is None) for node in nodes}) == 1
