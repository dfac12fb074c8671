"""The graph of a topology's nodes, which checks that the nodes fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from forebay.builder.nodes import Kind, Node, Spreading, TopologyError, line_of_caller
from forebay.builder.topic_uses import problem_of_reader, problem_of_writers
from forebay.formats import Format
from forebay.formats.identities import Identity, partitioned_keys
from forebay.stores.binding import Store
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.utils.names import unused_name


class Graph:
    """The nodes of a topology. Each node comes after its parents."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._stores: dict[str, Node] = {}
        self._repartitions: dict[str, Node] = {}
        self._topics: dict[str, Node] = {}
        self.copies: dict[Node, Node] = {}
        """Copies of tables that are behind a repartition, by table."""
        self.stored: dict[Node, Node] = {}
        """Nodes that store the rows of suppressed tables for joins, by table."""

    def copy(self) -> Graph:
        """Return a graph with the same nodes, to which a plan can be applied for trial."""
        graph = Graph()
        graph.nodes, graph.copies, graph.stored = [*self.nodes], {**self.copies}, {**self.stored}
        graph._stores, graph._repartitions, graph._topics = {**self._stores}, {**self._repartitions}, {**self._topics}
        return graph

    def unused_name(self, name: str, longest: int) -> str:
        """Return `name` or a similar name that no store or repartition has, of at most `longest` characters."""
        return unused_name(name, self._stores.keys() | self._repartitions.keys(), longest)

    def add(self, node: Node) -> Node:
        """Add a node and return it. Raise TopologyError if it conflicts with the other nodes."""
        if not node.where:
            object.__setattr__(node, "where", line_of_caller())
        for store in node.stores:
            _check_kept(node, store)
            other = self._stores.setdefault(store.name, node)
            if other is not node:
                raise TopologyError(
                    f"store {store.name}: the name is used at {other.where} already: choose "
                    "another name, or share that store with a processor: process(..., "
                    f"stores=[{store.name!r}])"
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
        """Return the repartition behind `parent`, which is added with this name if it does not exist.

        Args:
            parent: Node whose records are repartitioned.
            name: Name of a new repartition.
            spread: How records are partitioned, if not by the hash of the key. Such a repartition is always new.

        Raises:
            TopologyError: Another repartition has this name.
        """
        for node in self._repartitions.values():
            # Only repartitions by the key's hash can be shared. Two partitioner functions can't be compared.
            if node.parents == (parent,) and spread is None and node.partitioner is None:
                return node
        if name in self._repartitions:
            raise TopologyError(
                f"repartition {name}: the name is used at {self._repartitions[name].where} "
                "already: choose another one with name="
            )
        # Before a repartition, a windowed key is placed by its key alone. Behind it, the whole windowed key is hashed.
        key = parent.key.by_hash()
        if spread is not None:
            # The name of the key format differs, so that the result can't be joined with streams that are partitioned
            # differently.
            identify = partial(_identity_of, spread.how, key)
            key = replace(key, name=f"{key} ({spread.words})", hashed=key, identify=identify)
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

    def match(self, topics: Mapping[str, Sequence[str]]) -> None:
        """Set the topics of sources with a pattern to those that match it."""
        for node in self.of_kind(Kind.SOURCE):
            if node.pattern:
                object.__setattr__(node, "topics", tuple(topics.get(node.pattern, ())))

    def settle(self) -> None:
        """Rename repartitions that have a topic's name, because a processor forwards to both by name."""
        topics = {topic for node in self.nodes for topic in node.topics}
        for node in self.of_kind(Kind.REPARTITION):
            if node.name in topics:
                object.__setattr__(node, "name", f"{node.name}-by-key")

    def _check_process(self, node: Node) -> None:
        for other in self.nodes:
            if other.name == node.name and node.name.startswith("process "):
                raise TopologyError(
                    f"{node.name}: the name is used at {other.where} already, and timers are "
                    "identified by it: choose another name with name="
                )

    def _check_topic(self, topic: str, node: Node) -> None:
        other = self._topics.setdefault(f"{node.kind.value} {topic}", node)
        if other is not node and node.kind is Kind.SOURCE:
            raise TopologyError(
                f"topic {topic} is read at {other.where} already: use the stream or table that "
                "stream() or table() returned there"
            )
        problem = "" if other is node else problem_of_writers(topic, other, node)
        read, written = (self._topics.get(f"{kind.value} {topic}") for kind in (Kind.SOURCE, Kind.SINK))
        if read is not None and written is not None:
            problem = problem or problem_of_reader(topic, read, written, node)
        if problem:
            raise TopologyError(problem)


def _check_kept(node: Node, store: Store[Any]) -> None:
    """Raise TopologyError if the node does not allow the store's caching or logging option."""
    options = store.options
    if node.is_global and not options.logging:
        raise TopologyError(
            f"store {store.name}: a global table resumes at its position, so its rows must be "
            "restored from a changelog: set logging=True"
        )
    if options.caching is None:
        return
    if not node.gives_rows or isinstance(store, (JoinBuffer, SuppressBuffer)):
        raise TopologyError(
            f"store {store.name}: the rows of this store are not sent to an output, so there "
            "is nothing to cache: remove caching="
        )
    # Kafka Streams disables caching of versioned stores for the same reason.
    if options.caching and isinstance(store, VersionedKeyValueStore):
        raise TopologyError(
            f"store {store.name}: a versioned table can't be cached, because each of its "
            "versions is sent: remove caching= or history_retention_ms="
        )


def _identity_of(how: str, key: Format[Any]) -> Identity:
    return partitioned_keys(how, key.identity)
