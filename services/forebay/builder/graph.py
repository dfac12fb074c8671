"""What a topology consists of: nodes, what makes each one's operator, and the line of code it is from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from forebay.builder.topic_uses import problem_of_reader, problem_of_writers
from forebay.formats import Format
from forebay.names import unused_name
from forebay.operators.table import TableView
from forebay.processor.api import Context, Reading, Timer
from forebay.stores.binding import Store
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.versioned import VersionedKeyValueStore

S = TypeVar("S", bound=Store[Any])

Flow = Callable[[Any, Any, int, Context[Any]], None]
"""Takes one element: row text of the key (or None), value (of a table: its change), timestamp in ms."""

Partitioner = Callable[[Any, Any], int | None]
"""Gives the partition of a record's key (row text) and value, None: by its hash; of a repartition modulo the tasks."""


class Spreading(NamedTuple):
    """How a repartition's records are spread where it is not by the hash of the key.

    Args:
        numbers: gives the number that a record's partition is made of.
        words: name the way: streams that are spread in different ways can't be joined.
    """

    numbers: Partitioner
    words: str


_OURS = tuple(str(Path(__file__).parents[1] / name) for name in ("builder", "interactive", "stateful", "testing"))


class Kind(Enum):
    """What a node is."""

    SOURCE = "source"
    STEP = "step"
    REPARTITION = "repartition"
    SINK = "sink"


class History(Enum):
    """What a node does with changes that are not the latest of their key."""

    IGNORES = "ignores"
    PASSES = "passes"
    KEEPS = "keeps"


@dataclass(frozen=True, slots=True)
class Made:
    """A node's operator on a task's stores.

    Args:
        flows: one per parent.
        timer: name of the timer it uses, if it uses one; a processor's timers begin with it.
        on_wall_clock: called every `Node.wall_clock_ms`.
        join_all: for a join of tables: called with all changes that one element caused on its sides (see deferral.py).
    """

    flows: tuple[Flow, ...]
    timer: str = ""
    on_timer: Callable[[Timer, Context[Any]], None] | None = None
    on_wall_clock: Callable[[int, Context[Any]], None] | None = None
    join_all: Callable[[Sequence[Any]], None] | None = None


class Bound(Protocol):
    """A task's side of the topology, while operators are made."""

    def store(self, declared: S) -> S:
        """Return the task's store of that declaration."""
        ...

    def view(self, node: Node) -> TableView[Any]:
        """Return where the rows of a node's table are looked up."""
        ...

    def is_followed(self, node: Node) -> bool:
        """Return whether a node's elements go anywhere."""
        ...

    def sends_history(self, node: Node) -> bool:
        """Return whether changes that are not the latest of their key are wanted behind a table's node."""
        ...

    def sends_old(self, node: Node) -> bool:
        """Return whether a node after this table asks for old values."""
        ...

    def after_record(self, out: Flow, timer: Timer, action: Callable[[Context[Any]], None], ctx: Context[Any]) -> bool:
        """Have an action that passes elements to `out` follow the record; return False if it can be done now."""
        ...

    def apart(self, timer: Timer, step: Callable[[Context[Any]], None], ctx: Context[Any]) -> None:
        """Run a step as if that timer fired now: if it fails, it is undone and reported alone."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node.

    Args:
        name: topic of a source, name of a repartition, label of a step or sink.
        key, value: formats of what it gives; of a table: of its rows.
        parents: nodes it gets elements from.
        looked_up: nodes whose tables it looks up: they must run where it runs.
        stores: those it declares.
        make: makes its operator; its results go to the flow it is given.
        view: gives where its table's rows are looked up.
        asks_old: whether it needs the old values of the table before it.
        history: what it does with changes that are not the latest of their key.
        waits_for_sides, changes_rows_again: see deferral.py.
        gives_rows: whether its results are rows of a table, so that the last row of a key replaces those before.
        topics: of a source or a sink; of a source with a pattern: those that match, once they are known.
        pattern: of a source: what the names of its topics match as a whole.
        choose: of a sink to several topics: gives the topic of a record.
        is_global: whether every task has it whole; isolates: whether each node behind it fails alone.
        horizon_ms: how far past stream time it must be taken for all it holds to be given, in ms.
        partitioner: of a repartition or sink; None: the hash of the key.
        wall_clock_ms: how often its processor is called by the wall clock, in ms; 0: never.
        where: file and line that made it.
    """

    kind: Kind
    name: str
    key: Format[Any]
    value: Format[Any]
    parents: tuple[Node, ...] = ()
    looked_up: tuple[Node, ...] = ()
    stores: tuple[Store[Any], ...] = ()
    make: Callable[[Bound, Flow], Made] | None = None
    view: Callable[[Bound], TableView[Any]] | None = None
    asks_old: bool = True
    waits_for_sides: bool = False
    changes_rows_again: bool = False
    gives_rows: bool = False
    history: History = History.IGNORES
    topics: tuple[str, ...] = ()
    pattern: str = ""
    choose: Callable[[Any, Any], str] | None = None
    reading: Reading[Any] | None = None
    is_table: bool = False
    is_nullable: bool = False
    is_global: bool = False
    isolates: bool = False
    horizon_ms: int = 0
    partitioner: Partitioner | None = None
    wall_clock_ms: int = 0
    where: str = ""


class TopologyError(ValueError):
    """A topology that can't run; the message names the line that made it and the remedy."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where or line_of_caller()}: {message}")


def line_of_caller() -> str:
    """Return file and line of the innermost frame outside of the packages that build or run topologies."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith((*_OURS, "<string>")) or "dataclasses" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


class Graph:
    """The nodes of a topology, each after its parents."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._stores: dict[str, Node] = {}
        self._repartitions: dict[str, Node] = {}
        self._topics: dict[str, Node] = {}
        self.copies: dict[Node, Node] = {}
        """Copies of tables behind a repartition, by table."""

    def copy(self) -> Graph:
        """Return a graph of the same nodes, to try something out."""
        graph = Graph()
        graph.nodes, graph.copies = [*self.nodes], {**self.copies}
        graph._stores, graph._repartitions, graph._topics = {**self._stores}, {**self._repartitions}, {**self._topics}
        return graph

    def unused_name(self, name: str, longest: int) -> str:
        """Return `name`, or one like it, that no store or repartition has; a longer one than `longest` is cut."""
        return unused_name(name, self._stores.keys() | self._repartitions.keys(), longest)

    def add(self, node: Node) -> Node:
        """Take a node in. Raises TopologyError where it can't go together with the others."""
        if not node.where:
            object.__setattr__(node, "where", line_of_caller())
        for store in node.stores:
            _check_kept(node, store)
            other = self._stores.setdefault(store.name, node)
            if other is not node:
                raise TopologyError(
                    f"store {store.name}: the name is used at {other.where} already; give each store its own, or have "
                    f"a processor work on that store: process(..., stores=[{store.name!r}])"
                )
        self._check_process(node)
        for topic in node.topics:
            self._check_topic(topic, node)
        self.nodes.append(node)
        return node

    def of_kind(self, kind: Kind) -> list[Node]:
        """Return the nodes of a kind."""
        return [node for node in self.nodes if node.kind is kind]

    def owner_of_store(self, name: str) -> Node | None:
        """Return the node that declares a store."""
        return self._stores.get(name)

    def repartition(self, parent: Node, name: str, spread: Spreading | None = None) -> Node:
        """Return the repartition behind `parent`: the one there is, or a new one of that name."""
        for node in self._repartitions.values():
            # Only repartitions by the key's hash can be shared. Two partitioner functions can't be compared.
            if node.parents == (parent,) and spread is None and node.partitioner is None:
                return node
        if name in self._repartitions:
            raise TopologyError(
                f"repartition {name}: the name is used at {self._repartitions[name].where} already; give this one "
                "another: name="
            )
        # Before a repartition, a windowed key is placed by its key alone. Behind it, the whole windowed key is hashed.
        key = parent.key.repartitioned()
        if spread is not None:
            # Another name, so that it can't be joined with streams that are partitioned differently.
            key = replace(key, name=f"{key} ({spread.words})")
        numbers = None if spread is None else spread.numbers
        new_node = Node(
            Kind.REPARTITION,
            name,
            key,
            parent.value,
            (parent,),
            is_nullable=True,
            isolates=parent.isolates,
            partitioner=numbers,
        )
        self._repartitions[name] = new_node
        return self.add(new_node)

    def match(self, found: Mapping[str, Sequence[str]]) -> None:
        """Have sources read the topics that match their patterns."""
        for node in self.of_kind(Kind.SOURCE):
            if node.pattern:
                object.__setattr__(node, "topics", tuple(found.get(node.pattern, ())))

    def settle(self) -> None:
        """Rename repartitions that have a topic's name: both are targets of the same processor."""
        topics = {topic for node in self.nodes for topic in node.topics}
        for node in self.of_kind(Kind.REPARTITION):
            if node.name in topics:
                object.__setattr__(node, "name", f"{node.name}-by-key")

    def _check_process(self, node: Node) -> None:
        for other in self.nodes:
            if other.name == node.name and node.name.startswith("process "):
                raise TopologyError(
                    f"{node.name}: the name is used at {other.where} already: it is before the processor's timers; "
                    "give each its own name="
                )

    def _check_topic(self, topic: str, node: Node) -> None:
        other = self._topics.setdefault(f"{node.kind.value} {topic}", node)
        if other is not node and node.kind is Kind.SOURCE:
            raise TopologyError(
                f"topic {topic} is read at {other.where} already: keep what stream() or table() gave there and use that"
            )
        problem = "" if other is node else problem_of_writers(topic, other, node)
        read, written = (self._topics.get(f"{kind.value} {topic}") for kind in (Kind.SOURCE, Kind.SINK))
        if read is not None and written is not None:
            problem = problem or problem_of_reader(topic, read, written, node)
        if problem:
            raise TopologyError(problem)


def _check_kept(node: Node, store: Store[Any]) -> None:
    """Refuse a cache or a missing changelog where there can't be one."""
    options = store.kept
    if node.is_global and not options.logging:
        raise TopologyError(
            f"store {store.name}: a global table continues at its position and must restore its rows: logging=True"
        )
    if options.caching is None:
        return
    if not node.gives_rows or isinstance(store, (JoinBuffer, SuppressBuffer)):
        raise TopologyError(
            f"store {store.name}: it holds no rows that are sent, so that there is nothing to cache: leave caching= out"
        )
    # Kafka Streams disables caching of versioned stores for the same reason.
    if options.caching and isinstance(store, VersionedKeyValueStore):
        raise TopologyError(
            f"store {store.name}: a versioned table is not cached, each of its versions counts: leave caching= out, or "
            "read it without history_retention_ms"
        )
