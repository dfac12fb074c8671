"""The processor of a sub-topology, in which each node's operator calls its successors."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from forebay.builder.components import Component
from forebay.builder.contexts import Punctuation
from forebay.builder.deferral import Branching, Deferral, deferred_nodes, joins_behind, undoing
from forebay.builder.filled import filling_of, passing
from forebay.builder.flows import ElementCount, nowhere, only_latest, to_all
from forebay.builder.nodes import Flow, History, Kind, Made, Node, P, S, T
from forebay.builder.read_back import receiving
from forebay.builder.sending import isolating, sending
from forebay.builder.stored_keys import StoredKeys
from forebay.builder.views import Computed
from forebay.codec import Unavailable
from forebay.formats import Format
from forebay.formats.identities import Identity
from forebay.operators.table import TableView
from forebay.processor.api import Context, IdleClose, Processor, Reading, Timer
from forebay.processor.filling import Filling
from forebay.processor.reports import FAILURES
from forebay.processor.resuming import Resuming
from forebay.stores.binding import Store

_FRAMES_OF_NODE = 6
"""Depth of the stack that a node may need, with those that count, isolate and fan out."""
_NODES_OF_DEFAULT = 60
"""Nodes for which Python's default depth of 1,000 frames suffices, with room for everything else."""


def _make_room_for(nodes: Sequence[Node]) -> None:
    """Raise Python's recursion limit if the longest path needs it, because each node calls the nodes after it."""
    depths: dict[Node, int] = {}
    for node in nodes:
        depths[node] = 1 + max((depths.get(parent, 0) for parent in node.parents), default=0)
    further = max(depths.values(), default=0) - _NODES_OF_DEFAULT
    # The limit applies to the whole process, where it also decides which nested data is refused. Most jobs need no
    # higher limit.
    if further > 0:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1_000 + _FRAMES_OF_NODE * further))


class CompiledSubTopology(Processor[Any, Any]):
    """The processor that runs the nodes of one sub-topology.

    Args:
        close_idle_after_ms, figures, has_ended: See Topology.
    """

    wall_clock_interval_ms: int

    def __init__(
        self,
        component: Component,
        close_idle_after_ms: int,
        figures: Callable[[], Mapping[str, float]] = dict,
        has_ended: Callable[[str], bool] | None = None,
    ) -> None:
        self.component = component
        self._figures = figures
        self.has_ended = has_ended
        self.nodes = component.nodes
        _make_room_for(self.nodes)
        horizon = max((node.horizon_ms for node in self.nodes), default=0)
        # A task has one wall-clock interval. The greatest common divisor is the longest one that meets every
        # processor's interval.
        self.wall_clock_interval_ms = math.gcd(*(node.wall_clock_ms for node in self.nodes))
        # Without windows or buffers there is nothing to close early.
        self.idle = IdleClose(close_idle_after_ms, horizon) if horizon and close_idle_after_ms else None
        self._attributes: dict[str, str] = {}
        stores: dict[str, tuple[Node, Store[Any]]] = {}
        for node in self.nodes:
            for declared in node.stores:
                store = self._declare(node, declared)
                stores[store.name] = node, store
        self._keys = StoredKeys(component, stores)
        self._children: dict[Node, list[tuple[Node, int]]] = {}
        for node in self.nodes:
            for side, parent in enumerate(node.parents):
                self._children.setdefault(parent, []).append((node, side))
        self._deferred = deferred_nodes(self.nodes, self._children)
        self._deferrals: dict[Node, Deferral] = {}
        self._joins = joins_behind(self.nodes, self._children, frozenset().union(*self._deferred.values()))
        self._behind: dict[Flow, tuple[Deferral, ...]] = {}
        """Deferred joins that the elements of a flow reach, by flow."""
        self._made: dict[Node, Made] = {}
        self._views: dict[Node, TableView[Any]] = {}
        self._timers: list[tuple[str, Node]] = []
        self._punctuated: list[tuple[Punctuation, Node]] = []
        self._entries: dict[str, Flow] = {}
        self._readings: dict[str, Reading[Any]] = {}
        self._passed: dict[str, ElementCount] = {}
        self._fillings: dict[str, list[Filling]] = {}
        self._after: dict[Callable[[Context[Any]], None], Timer] = {}
        self._is_strict = False

    def _declare(self, node: Node, store: Store[Any]) -> Store[Any]:
        """Declare a node's store and return it. Each sub-topology has its own copy of a global table's store."""
        if node.is_global:
            # The node is shared by all sub-topologies. Without a copy, the last one to declare the store would rename
            # it for all.
            store = copy.copy(store)
            store.is_global = True
            store.source = node.parents[0].topics[0]
            store.name = self._name_of_global(node, store)
        self._attributes[f"{node.is_global} {store.name}"] = attribute = f"store{len(self._attributes)}"
        setattr(self, attribute, store)
        return store

    def _name_of_global(self, node: Node, store: Store[Any]) -> str:
        return store.name if node in self.component.owned else f"{store.name}-{self.component.state_name}"

    def init(self) -> None:
        flows: dict[Node, Flow] = {}
        for node in self.nodes:
            # A table without such stores records this, so that a store that is added later is known to be new.
            if node.view is not None and node.stores and not node.is_global:
                self._fillings[self.store(node.stores[0]).name] = []
        # Children first, because a node's operator is created with the flow that receives its results.
        for node in reversed(self.nodes):
            flows[node] = self._flow_of(node, flows)
        for source in self.component.of_kind(Kind.SOURCE):
            for topic in source.topics:
                self._entries[topic], self._readings[topic] = flows[source], source.reading or Reading()
        for repartition in self.component.reads:
            self._entries[repartition.name] = self._fan_out(repartition)
            self._readings[repartition.name] = Reading()
        for node, unit in self._made.items():
            if unit.on_timer is not None:
                self._timers.append((unit.timer, node))
            if node.wall_clock_ms:
                self._punctuated.append((Punctuation(node.wall_clock_ms, self.wall_clock_interval_ms), node))

    def _flow_of(self, node: Node, flows: dict[Node, Flow]) -> Flow:
        """Create a node's operator and return the flow that receives the node's output elements."""
        if node.kind in (Kind.SINK, Kind.REPARTITION):
            return nowhere
        out = self._fan_out(node)
        self._behind[out] = tuple(self._deferrals[join] for join in self._joins[node])
        if node.make is not None:
            unit = node.make(self, out)
            if any(node in joins for joins in self._deferred.values()):
                deferral = self._deferrals[node] = Deferral(unit)
                unit = replace(unit, flows=tuple(deferral.flow(side) for side in range(len(unit.flows))))
            self._made[node] = unit
        return out

    def _fan_out(self, node: Node) -> Flow:
        targets = tuple(self._counting_flow(node, child, side) for child, side in self._children.get(node, ()))
        if self.sends_history(node):
            wants_history = [self._wants_history(child) for child, _ in self._children[node]]
            targets = tuple(t if wants else only_latest(t) for t, wants in zip(targets, wants_history, strict=True))
        joins = self._deferred.get(node)
        # With a single target, undoing the target's effects is the same as undoing the record.
        isolated = self._run_isolated if node.isolates and len(targets) > 1 else None
        flow = to_all(targets) if isolated is None else isolating(targets, isolated)
        return flow if joins is None else Branching(flow, [self._deferrals[join] for join in joins], isolated)

    def _run_isolated(self, step: Callable[[], None], ctx: Context[Any]) -> None:
        task: Any = ctx
        task.isolated(undoing(self._deferrals.values(), step) if self._deferrals else step)

    def _counting_flow(self, parent: Node, node: Node, side: int) -> Flow:
        """Return the flow from a node to its child. Between two steps, it counts the elements.

        Records of topics and repartitions are counted by the task that reads or writes them.
        """
        target = receiving(parent, node, self._receiver(node, side))
        if parent.kind is not Kind.STEP or node.kind is not Kind.STEP:
            return target
        arrow = f"{self._number(parent)} {self._number(node)}"
        flow = self._passed.setdefault(arrow, ElementCount()).before(target)
        if not node.filled:
            return flow
        filling = filling_of(self, parent, node, flow)
        if filling is None:
            return flow
        self._fillings.setdefault(filling.tables[0], []).append(filling)
        return passing(filling, flow)

    def _number(self, step: Node) -> int:
        """Return a step's number (from 1), as `forebay topology` prints it."""
        return self.component.of_kind(Kind.STEP).index(step) + 1

    def _receiver(self, node: Node, side: int) -> Flow:
        if node.kind is Kind.STEP:
            return self._made[node].flows[side]
        return sending(node)

    def store(self, declared: S) -> S:
        """Return the task's store for a declaration. Raise KeyError if no store was declared with its name."""
        copied = f"True {declared.name}-{self.component.state_name}"
        for place in (f"False {declared.name}", f"True {declared.name}", copied):
            if place in self._attributes:
                bound = getattr(self, self._attributes[place])
                assert isinstance(bound, type(declared))
                return bound
        raise KeyError(declared.name)

    def view(self, node: Node) -> TableView[Any]:
        """Return the view in which the rows of a node's table are looked up."""
        view = self._views.get(node)
        if view is None:
            assert node.view is not None, f"{node.name} is not a table"
            view = node.view(self)
            self._views[node] = view = view if node.stores else Computed(view, self.former)
        return view

    def former(self, compute: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T | None:
        """Return a value that is computed from a stored row, or None if its computation fails.

        An expression that was added after the row may fail for it. The added store does not have the row then, so there
        is nothing to subtract, and later changes of the key must not fail. If all stores had the rows from the
        beginning, the row did not fail when it was stored. The failure then fails the record, because an aggregate
        would keep a row that is not subtracted.
        """
        try:
            return compute(*arguments, **more)
        except FAILURES as error:
            is_of_row = not isinstance(error, Unavailable | MemoryError)
            if not is_of_row or self._is_strict or not self._has_added_stores():
                raise
            return None

    def strictly(self, compute: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
        """Return a value that is computed from stored rows, of which none may fail."""
        self._is_strict = True
        try:
            return compute(*arguments, **more)
        finally:
            self._is_strict = False

    def _has_added_stores(self) -> bool:
        """Return whether a store was added to a table that had rows."""
        return any(filling.is_added for fillings in self._fillings.values() for filling in fillings)

    def is_followed(self, node: Node) -> bool:
        """Return whether another node receives the elements of a node."""
        return node in self._children

    def sends_history(self, node: Node) -> bool:
        """Return whether a node after this table uses changes that are older than the latest change of their key."""
        return any(self._wants_history(child) for child, _ in self._children.get(node, ()))

    def _wants_history(self, node: Node) -> bool:
        return node.history is History.KEEPS or (node.history is History.PASSES and self.sends_history(node))

    def sends_old(self, node: Node) -> bool:
        """Return whether a node after this table needs old values."""
        return any(child.asks_old for child, _ in self._children.get(node, ()))

    def after_record(self, out: Flow, timer: Timer, action: Callable[[Context[Any]], None], ctx: Context[Any]) -> bool:
        """Defer an action that passes elements to `out` until after the record. Return False if it can run now.

        It is deferred if it belongs to a timer that fires because of the record, or if a join behind `out` is deferred
        until the record has reached all of the join's sides.
        """
        task: Any = ctx
        follows: bool = task.record_follows or (
            task.message is not None and any(output.depth for output in self._behind[out])
        )
        if follows:
            self._after[action] = timer
        return follows

    def apart(self, timer: Timer, step: Callable[[Context[Any]], None], ctx: Context[Any]) -> None:
        """Run a step as if the timer fired now. If it fails, only the step is undone and reported."""
        task: Any = ctx
        task.apart(timer, undoing(self._deferrals.values(), step) if self._deferrals else step)

    def fillings(self) -> Mapping[str, Sequence[Filling]]:
        """Return the fillings from each table, by the name of its store."""
        return self._fillings

    def figures(self) -> Mapping[str, float]:
        return self._figures()

    def edge_counts(self) -> Mapping[str, int]:
        return {edge: passed.elements for edge, passed in self._passed.items()}

    def resume_after_commit(self, stream_time: int) -> None:
        for reading in self._readings.values():
            extract: object = reading.extract
            if isinstance(extract, Resuming):
                extract.resume_after_commit(stream_time)

    def reading(self, topic: str) -> Reading[Any]:
        return self._readings[topic]

    def record_key(self, name: str, key: str) -> str | bytes | None:
        return self._keys.record_key(name, key)

    def keys_of(self, store: str) -> Callable[[str], Any]:
        return self._keys.keys_of(store)

    def key_format_of(self, store: str) -> Format[Any] | None:
        return self._keys.format_of(store)

    def timer_keys(self) -> Mapping[str, Identity]:
        return self._keys.timer_keys()

    def process(self, event: Any, ctx: Context[Any]) -> None:
        self._entries[ctx.topic](ctx.key, event, ctx.timestamp, ctx)
        if self._after:
            self._finish(ctx)

    def on_delete(self, topic: str, ctx: Context[Any]) -> None:
        self._entries[topic](ctx.key, None, ctx.timestamp, ctx)
        if self._after:
            self._finish(ctx)

    def _finish(self, ctx: Context[Any]) -> None:
        """Run the actions that were deferred until after the record, including those that a failed record left."""
        # Replace the actions before they run. An action that fails must not run again after the next record.
        actions, self._after = self._after, {}
        for action, timer in actions.items():
            self.apart(timer, action, ctx)

    def on_wall_clock(self, now: int, ctx: Context[Any]) -> None:
        for punctuation, node in self._punctuated:
            on_wall_clock = self._made[node].on_wall_clock
            if punctuation.is_due(now) and on_wall_clock is not None:
                # Each call is isolated, so that a processor that fails does not keep the others from being called.
                self.apart(Timer(now, "wall clock", None), partial(on_wall_clock, now), ctx)

    def has_timer(self, timer: str) -> bool:
        """Return whether a timer belongs to one of the nodes. The timers of a removed node do not (see `Timers`)."""
        return any(_is_of(timer, name) for name, _ in self._timers)

    def on_timer(self, timer: Timer, ctx: Context[Any]) -> None:
        for name, node in self._timers:
            if _is_of(timer.name, name):
                on_timer = self._made[node].on_timer
                assert on_timer is not None
                on_timer(timer, ctx)
                return


def _is_of(timer: str, name: str) -> bool:
    """Return whether a timer belongs to a node, whose timer is `name` or, for a processor, begins with it."""
    return timer == name or (name.endswith(": ") and timer.startswith(name))
