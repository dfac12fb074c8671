"""Bring the inputs of a join into one sub-topology, if necessary by repartitioning some of them.

Kafka Streams lets a sub-topology read its own repartition topic. Here a sub-topology waits for the time of those that
send to it, so they can't send to each other in a circle. A node before a repartition can only be joined behind it.
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
    """A node that is to meet others.

    Args:
        name: of the repartition it is sent along through, if it must be.
    """

    node: Node
    name: str
    is_table: bool = False

    def along(self, graph: Graph, *, is_own: bool) -> Node:
        """Return the same records, or rows, behind a repartition by their key.

        Args:
            is_own: whether it must be a separate copy of a table, which no other join uses.
        """
        if self.is_table:
            return table_along(graph, self.node, self.name, is_own=is_own)
        if self.node.kind is Kind.REPARTITION:
            return self.node
        return graph.repartition(self.node, graph.unused_name(self.name, LONGEST_REPARTITION))


def first_that_runs(graph: Graph, plans: Sequence[Plan]) -> tuple[Node, ...]:
    """Return the nodes of the first plan whose nodes are partitioned alike and can run together; of none, the first."""
    for plan in plans:
        # A plan adds nodes. Try it on a copy, so that a plan that does not work leaves no unused repartition behind.
        trial = graph.copy()
        nodes = plan(trial)
        if _are_alike(nodes) and can_meet(trial, nodes):
            return plan(graph)
    return plans[0](graph)


def bring_together(graph: Graph, sides: Sequence[Side]) -> tuple[Node, ...]:
    """Return nodes that can run in one sub-topology: the sides as they are, or some of them sent along."""
    numbers = range(len(sides))
    # Fewest repartitions first, because each is one more topic to write and read.
    ways: list[tuple[int, ...]] = [(), *((number,) for number in numbers), tuple(numbers)]

    def plan_of(way: tuple[int, ...], *, is_own: bool) -> Plan:
        return lambda trial: tuple(
            side.along(trial, is_own=is_own) if number in way else side.node for number, side in enumerate(sides)
        )

    # An existing copy of a table may run in a sub-topology before the other side. A second copy can run behind it.
    plans = [plan_of(way, is_own=is_own) for is_own in (False, True) for way in ways]
    return first_that_runs(graph, plans)


def table_along(graph: Graph, table: Node, name: str, *, is_own: bool = False) -> Node:
    """Return a copy of a table behind a repartition, with the history it has.

    Args:
        is_own: whether to make another copy if there is one; if not, all share one.
    """
    node = None if is_own else graph.copies.get(table)
    if node is None:
        versions = versions_of(table)
        stream = rows.to_stream(table)
        if versions is not None:
            # The copy must receive late changes too, or a record would join another version there than in the table
            # itself.
            stream = replace(stream, history=History.KEEPS)
        # The copy's store has the name of the repartition.
        sent = graph.repartition(graph.add(stream), graph.unused_name(name, LONGEST_STORE))
        repartitioned_table = rows.table(sent, sent.name, None if versions is None else versions.history_retention_ms)
        node = graph.add(repartitioned_table)
        graph.copies.setdefault(table, node)
    return node


def topic_part(name: str) -> str:
    """Return a name with characters that a topic's name can have. A table without a store has the name of its step."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")


def _are_alike(nodes: Sequence[Node]) -> bool:
    """Return whether equal keys are in one task. Until a repartition, a windowed key is placed by its key alone."""
    return len({(node.key.name, node.key.owner is None) for node in nodes}) == 1
