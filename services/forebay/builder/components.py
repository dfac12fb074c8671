"""Division of a graph into sub-topologies, sorted so that each comes after those that send to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from forebay.builder.graph import Graph
from forebay.builder.nodes import Kind, Node, TopologyError


@dataclass(frozen=True, slots=True)
class Component:
    """The nodes of a sub-topology.

    Args:
        name: Name of the sub-topology; "" for the first one.
        nodes: Its nodes, each after its parents, including the repartitions that it sends to.
        reads: Repartitions that it reads.
        state_name: Name that identifies its state: the alphabetically first name of the repartitions that it reads or,
            if it reads none, of its sources. Therefore statements can be added, removed and reordered.
        owned: Global tables whose stores have their declared names here. The names of copies in other sub-topologies
            end with the state names of these sub-topologies.
    """

    name: str
    nodes: tuple[Node, ...]
    reads: tuple[Node, ...]
    state_name: str
    owned: frozenset[Node] = frozenset()

    def of_kind(self, kind: Kind) -> list[Node]:
        """Return the nodes of a kind."""
        return [node for node in self.nodes if node.kind is kind]


def components(graph: Graph) -> tuple[Component, ...]:
    """Return the sub-topologies. Raise TopologyError if they form a cycle, or if a global table is not used."""
    graph.settle()
    _check_global_tables(graph)
    groups = _sort(_groups(graph).groups())
    parts = [_component(graph, number, members) for number, members in enumerate(groups)]
    owners: dict[Node, Component] = {}
    # Choose the owner by name and not by position. Otherwise, inserting a statement above could assign the store's
    # changelog to another sub-topology.
    for part in sorted(parts, key=lambda component: component.state_name):
        for node in part.nodes:
            if _is_shared(node):
                owners.setdefault(node, part)
    return tuple(replace(part, owned=frozenset(n for n, owner in owners.items() if owner is part)) for part in parts)


def _check_global_tables(graph: Graph) -> None:
    """Raise TopologyError if no node looks up a global table, because then no task would read it."""
    looked_up = {table for node in graph.nodes for table in node.looked_up}
    for node in graph.nodes:
        if _is_shared(node) and node.kind is Kind.STEP and node not in looked_up:
            raise TopologyError(
                f"{node.name}: this global table is not used, so no task would read its topic: "
                "join a stream with it, name its store in process(..., stores=), or read the "
                "topic with table() if you only query it",
                node.where,
            )


def can_meet(graph: Graph, nodes: Sequence[Node]) -> bool:
    """Return whether nodes can run in one sub-topology without a cycle between sub-topologies."""
    probe = Node(Kind.STEP, "probe", nodes[0].key, nodes[0].value)
    groups = _groups(graph)
    groups.add(probe)
    for node in nodes:
        if not _is_shared(node):
            groups.join(probe, node)
    return not _in_order(groups.groups())[1]


def _groups(graph: Graph) -> _Groups:
    groups = _Groups()
    for node in graph.nodes:
        if _is_shared(node):
            continue
        groups.add(node)
        for parent in (*node.parents, *node.looked_up):
            if not _is_shared(parent):
                groups.join(node, parent)
    return groups


def _is_shared(node: Node) -> bool:
    """Return whether each sub-topology that looks up a node has a copy of it."""
    return node.is_global


class _Groups:
    """Groups of nodes that run in the same sub-topology (a union-find structure).

    A repartition belongs to the group that sends to it. Its readers are in another group.
    """

    def __init__(self) -> None:
        self._leader: dict[Node, Node] = {}
        self._readers: dict[Node, Node] = {}

    def add(self, node: Node) -> None:
        self._leader[node] = node

    def join(self, node: Node, parent: Node) -> None:
        """Unite the group of a node with the group that has its parent's elements."""
        if parent.kind is not Kind.REPARTITION:
            self._unite(node, parent)
            return
        # All readers of a repartition belong to one group, because a task has one position per topic. The sender may
        # be in another group.
        first = self._readers.setdefault(parent, node)
        self._unite(node, first)

    def groups(self) -> list[tuple[list[Node], list[Node]]]:
        """Return the nodes of each group, and the repartitions that the group reads."""
        groups: dict[Node, tuple[list[Node], list[Node]]] = {}
        for node in self._leader:
            groups.setdefault(self.top(node), ([], []))[0].append(node)
        for repartition, reader in self._readers.items():
            groups[self.top(reader)][1].append(repartition)
        return list(groups.values())

    def top(self, node: Node) -> Node:
        """Return the node that represents a node's group."""
        while self._leader[node] is not node:
            node = self._leader[node]
        return node

    def _unite(self, one: Node, other: Node) -> None:
        self._leader[self.top(one)] = self.top(other)


Members = tuple[list[Node], list[Node]]


def _sort(groups: list[Members]) -> list[Members]:
    ordered, rest = _in_order(groups)
    if rest:
        raise _circle(rest)
    return ordered


def _in_order(groups: list[Members]) -> tuple[list[Members], list[Members]]:
    """Return the groups, each after those that send to it, and the groups that form a cycle or come after one."""
    sent: set[Node] = set()
    rest, ordered = list(groups), []
    while rest:
        ready = next((group for group in rest if sent.issuperset(group[1])), None)
        if ready is None:
            break
        rest.remove(ready)
        ordered.append(ready)
        sent.update(node for node in ready[0] if node.kind is Kind.REPARTITION)
    return ordered, rest


def _circle(groups: Iterable[Members]) -> TopologyError:
    for nodes, reads in groups:
        for repartition in reads:
            if repartition in nodes:
                return TopologyError(
                    f"records from the repartition {repartition.name} use a table or store from before it, whose rows "
                    "are in other tasks: repartition the table, too: "
                    "table.to_stream().repartition(name=...).to_table(store=...)",
                    repartition.where,
                )
    names = ", ".join(node.name for _, reads in groups for node in reads)
    return TopologyError(f"the repartitions {names} form a cycle: read one of their tables a second time")


def _first_of(source: Node) -> str:
    """Return the name of a source for use in topic names. It does not depend on the topics that match a pattern."""
    return source.name if source.pattern else source.topics[0]


def _names_of(source: Node) -> tuple[str, ...]:
    return (source.name,) if source.pattern else source.topics


def _component(graph: Graph, number: int, members: Members) -> Component:
    nodes, reads = members
    shared: set[Node] = set()
    for node in nodes:
        for table in node.looked_up:
            if _is_shared(table):
                shared |= {table, *table.parents}
    kept_nodes = tuple(node for node in graph.nodes if node in shared or node in nodes)
    name = (
        ""
        if number == 0
        else reads[0].name
        if reads
        else next(_first_of(n) for n in kept_nodes if n.kind is Kind.SOURCE)
    )
    sources = [node for node in nodes if node.kind is Kind.SOURCE]
    # Repartitions first, because their names belong to this sub-topology alone.
    anchors = [node.name for node in reads] or [name for node in sources for name in _names_of(node)]
    return Component(name, kept_nodes, tuple(reads), min(anchors, default=name))
