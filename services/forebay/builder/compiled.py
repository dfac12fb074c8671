"""A stage of a topology as a processor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forebay.builder.graph import Element, Graph, Kind, Made, Node, S
from forebay.operators.table import TableView
from forebay.processor.api import Context, IdleClose, Processor, Timer
from forebay.stores.keys import split_key
from forebay.stores.ttl import TtlKeyValueStore


class CompiledStage(Processor[Any, Any]):
    """Runs the nodes of one stage: a record goes to its source's children, and what they give to theirs, in order.

    Args:
        close_idle_after_ms: see Topology.
    """

    def __init__(self, graph: Graph, stage: int, close_idle_after_ms: int) -> None:
        self.nodes = tuple(node for node in graph.nodes if node.stage == stage)
        self.entries = self._entries(graph, stage)
        horizon = max((node.horizon_ms for node in self.nodes), default=0)
        self.idle = IdleClose(close_idle_after_ms, horizon) if horizon else None
        self._attributes: dict[str, str] = {}
        for node in self.nodes:
            for store in node.stores:
                self._attributes[store.name] = attribute = f"store{len(self._attributes)}"
                setattr(self, attribute, store)
        self._made: dict[Node, Made] = {}
        self._timers: dict[str, Node] = {}
        self._children: dict[Node, list[tuple[Node, int]]] = {node: [] for node in (*self.nodes, *self.entries)}
        for node in self.nodes:
            for side, parent in enumerate(node.parents):
                self._children[parent].append((node, side))
        self._sources = {node.record: node for node in self.entries}

    @staticmethod
    def _entries(graph: Graph, stage: int) -> tuple[Node, ...]:
        if stage == 0:
            return tuple(graph.of_kind(Kind.SOURCE))
        return tuple(node for node in graph.of_kind(Kind.REPARTITION) if node.stage == stage - 1)

    def opened(self) -> None:
        for node in self.nodes:
            if node.make is not None:
                made = self._made[node] = node.make(self)
                if made.on_timer is not None:
                    self._timers[made.timer] = node

    def store(self, declared: S) -> S:
        """Give the task's store of that declaration."""
        bound = getattr(self, self._attributes[declared.name])
        assert isinstance(bound, type(declared))
        return bound

    def table(self, node: Node) -> TableView[Any]:
        """Give the table that a node keeps."""
        table = self._made[node].table
        assert table is not None, f"{node.name} keeps no table"
        return table

    def record_key(self, name: str, key: str) -> str | None:
        attribute = self._attributes.get(name)
        if attribute is None:
            return None
        return split_key(key)[0] if isinstance(getattr(self, attribute), TtlKeyValueStore) else key

    def process(self, event: Any, ctx: Context[Any]) -> None:
        self._give(self._sources[type(event)], [(ctx.key, event, ctx.timestamp)], ctx)

    def removed(self, topic: str, ctx: Context[Any]) -> None:
        (source,) = (node for node in self.entries if node.name == topic)
        self._give(source, [(ctx.key, None, ctx.timestamp)], ctx)

    def on_timer(self, timer: Timer, ctx: Context[Any]) -> None:
        node = self._timers[timer.name]
        on_timer = self._made[node].on_timer
        assert on_timer is not None
        self._give(node, on_timer(timer, ctx), ctx)

    def _give(self, node: Node, elements: Iterable[Element], ctx: Context[Any]) -> None:
        for key, value, timestamp in elements:
            for child, side in self._children[node]:
                if child.kind is Kind.STEP:
                    self._give(child, self._made[child].steps[side](key or "", value, timestamp, ctx), ctx)
                else:
                    ctx.forward(value, key, timestamp, child.name)
