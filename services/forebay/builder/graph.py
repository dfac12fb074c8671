"""What a topology consists of: nodes, the stage each is in, and what makes its operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from forebay.operators.table import TableView
from forebay.processor.api import Context, Timer
from forebay.records import fields_of
from forebay.stores.binding import Store

S = TypeVar("S", bound=Store[Any])

Element = tuple[str | None, Any, int]
"""What flows: key, value (of a table: its change), timestamp in ms."""

Step = Callable[[str, Any, int, Context[Any]], Iterable[Element]]
"""Handles one element that a parent gives."""


class Kind(Enum):
    """What a node is."""

    SOURCE = "source"
    STEP = "step"
    REPARTITION = "repartition"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Made:
    """A node's operator on a task's stores.

    Args:
        steps: one per parent.
        timer: name of the task's timer it uses, if it uses one.
        on_timer: gives what the timer sets free.
        table: where others look rows up.
    """

    steps: tuple[Step, ...]
    timer: str = ""
    on_timer: Callable[[Timer, Context[Any]], Iterable[Element]] | None = None
    table: TableView[Any] | None = None


class Bound(Protocol):
    """A task's side of the topology, while operators are made."""

    def store(self, declared: S) -> S:
        """Give the task's store of that declaration."""
        ...

    def table(self, node: Node) -> TableView[Any]:
        """Give the table that a node keeps."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node.

    Args:
        name: topic of a source or sink, name of a repartition, label of a step.
        stage: of a repartition: the stage that hands over.
        record: what it gives; of a table: what its rows hold.
        horizon_ms: how far past stream time it must be taken for all it holds to be given, in ms.
    """

    kind: Kind
    name: str
    stage: int
    record: type[Any]
    parents: tuple[Node, ...] = ()
    stores: tuple[Store[Any], ...] = ()
    make: Callable[[Bound], Made] | None = None
    horizon_ms: int = 0


class TopologyError(ValueError):
    """A topology that can't run; the message names the node and the remedy."""


class Graph:
    """The nodes of a topology, each after its parents."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, node: Node) -> Node:
        """Take a node in. Raises TopologyError where it can't go together with the others."""
        known = {store.name for other in self.nodes for store in other.stores}
        for store in node.stores:
            if store.name in known:
                raise TopologyError(f"store {store.name}: the name is used twice; give each store its own")
            known.add(store.name)
        if node.kind is Kind.SOURCE:
            self._check_source(node)
        elif node.kind is Kind.SINK:
            self._check_sink(node)
        elif node.kind is Kind.REPARTITION:
            self._check_repartition(node)
        self.nodes.append(node)
        return node

    def of_kind(self, kind: Kind) -> list[Node]:
        """Give the nodes of a kind."""
        return [node for node in self.nodes if node.kind is kind]

    def repartition(self, parent: Node, name: str) -> Node:
        """Give the repartition `name` behind `parent`."""
        for node in self.of_kind(Kind.REPARTITION):
            if node.parents == (parent,) and node.name == name:
                return node
        return self.add(Node(Kind.REPARTITION, name, parent.stage, parent.record, (parent,)))

    def _check_source(self, node: Node) -> None:
        check_timestamped(node.record, f"topic {node.name}")
        for other in self.of_kind(Kind.SOURCE):
            if other.name == node.name:
                raise TopologyError(f"topic {node.name} is read twice: keep what stream() or table() gave and use that")
            if other.record is node.record:
                raise TopologyError(
                    f"topics {other.name} and {node.name} both hold {node.record.__name__}: a record's class tells its "
                    "topic; give each topic its own"
                )

    def _check_sink(self, node: Node) -> None:
        for other in self.of_kind(Kind.SINK):
            if other.name == node.name and other.record is not node.record:
                raise TopologyError(
                    f"topic {node.name} is sent {other.record.__name__} and {node.record.__name__}: "
                    "map them to one record, or give each a topic"
                )

    def _check_repartition(self, node: Node) -> None:
        check_timestamped(node.record, f"repartition {node.name}")
        for other in self.of_kind(Kind.REPARTITION):
            if other.name == node.name:
                raise TopologyError(f"repartition {node.name}: the name is used twice; give each its own")
            if other.stage == node.stage:
                raise TopologyError(
                    f"repartitions {other.name} and {node.name} both leave stage {node.stage}: the stages of a job are "
                    "a chain; hand over one record that holds both, or make two services"
                )


def check_timestamped(record: type[Any], where: str) -> None:
    """Refuse a record that does not carry its event time."""
    if "timestamp" not in fields_of(record):
        raise TopologyError(f"{where}: {record.__name__} must carry its event time: give it a field timestamp (ms)")
