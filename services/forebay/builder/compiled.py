"""A sub-topology as a processor: each node's operator calls what follows it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from forebay.builder.components import Component
from forebay.builder.contexts import Punctuation
from forebay.builder.deferral import Branching, Deferral, deferred_nodes, joins_behind, undoing
from forebay.builder.foreign import Subscription, owner_of_subscription
from forebay.builder.graph import Flow, History, Kind, Made, Node, S
from forebay.builder.read_back import receiving
from forebay.builder.sending import isolating, sending
from forebay.formats import Format, owner_of
from forebay.operators.table import TableView
from forebay.processor.api import Context, IdleClose, Processor, Reading, Timer
from forebay.stores.binding import Store
from forebay.stores.keyed import MARK
from forebay.stores.keys import split_key
from forebay.stores.spread import NotSpreadable
from forebay.stores.ttl import TtlKeyValueStore


class CompiledSubTopology(Processor[Any, Any]):
    """Runs the nodes of one sub-topology.

    Args:
        close_idle_after_ms, figures: see Topology.
    """

    wall_clock_interval_ms: int

    def __init__(
        self, component: Component, close_idle_after_ms: int, figures: Callable[[], Mapping[str, float]] = dict
    ) -> None:
        self.component = component
        self._figures = figures
        self.nodes = component.nodes
        horizon = max((node.horizon_ms for node in self.nodes), default=0)
        # A task has one wall-clock interval. The greatest common divisor is the longest one that meets every
        # processor's interval.
        self.wall_clock_interval_ms = math.gcd(*(node.wall_clock_ms for node in self.nodes))
        # Without windows or buffers there is nothing to close early.
        self.idle = IdleClose(close_idle_after_ms, horizon) if horizon and close_idle_after_ms else None
        self._attributes: dict[str, str] = {}
        self._of_store: dict[str, Node] = {}
        for node in self.nodes:
            for store in node.stores:
                self._declare(node, store)
        self._children: dict[Node, list[tuple[Node, int]]] = {}
        for node in self.nodes:
            for side, parent in enumerate(node.parents):
                self._children.setdefault(parent, []).append((node, side))
        self._deferred = deferred_nodes(self.nodes, self._children)
        self._deferrals: dict[Node, Deferral] = {}
        self._joins = joins_behind(self.nodes, self._children, frozenset().union(*self._deferred.values()))
        self._behind: dict[Flow, tuple[Deferral, ...]] = {}
        """Joins that wait for their sides, by the flow whose elements come to them."""
        self._made: dict[Node, Made] = {}
        self._views: dict[Node, TableView[Any]] = {}
        self._timers: list[tuple[str, Node]] = []
        self._punctuated: list[tuple[Punctuation, Node]] = []
        self._entries: dict[str, Flow] = {}
        self._readings: dict[str, Reading[Any]] = {}
        self._passed: dict[str, _Passed] = {}
        self._after: dict[Callable[[Context[Any]], None], Timer] = {}

    def _declare(self, node: Node, store: Store[Any]) -> None:
        """Declare a node's store; a global table's is another one in each sub-topology."""
        if node.is_global:
            # The node is shared by all sub-topologies. Without a copy, the last one to declare the store would rename
            # it for all.
            store = copy.copy(store)
            store.is_global = True
            store.source = node.parents[0].topics[0]
            store.name = self._name_of_global(node, store)
        self._attributes[f"{node.is_global} {store.name}"] = attribute = f"store{len(self._attributes)}"
        self._of_store[store.name] = node
        setattr(self, attribute, store)

    def _name_of_global(self, node: Node, store: Store[Any]) -> str:
        return store.name if node in self.component.owned else f"{store.name}-{self.component.state_name}"

    def opened(self) -> None:
        flows: dict[Node, Flow] = {}
        # Children first, because a node's operator is made with the flow that its results go to.
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
        """Return what takes the elements that a node gives; make its operator."""
        if node.kind in (Kind.SINK, Kind.REPARTITION):
            return _nowhere
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
            wanted = [self._wants_history(child) for child, _ in self._children[node]]
            targets = tuple(t if wants else _latest(t) for t, wants in zip(targets, wanted, strict=True))
        joins = self._deferred.get(node)
        # With a single target, undoing the target is the same as undoing the record.
        isolated = self._run_isolated if node.isolates and len(targets) > 1 else None
        flow = _to_all(targets) if isolated is None else isolating(targets, isolated)
        return flow if joins is None else Branching(flow, [self._deferrals[join] for join in joins], isolated)

    def _run_isolated(self, step: Callable[[], None], ctx: Context[Any]) -> None:
        task: Any = ctx
        task.isolated(undoing(self._deferrals.values(), step) if self._deferrals else step)

    def _counting_flow(self, parent: Node, node: Node, side: int) -> Flow:
        """Return what takes the elements of a step's arrow; those of topics and repartitions are counted there."""
        target = receiving(parent, node, self._receiver(node, side))
        if parent.kind is not Kind.STEP or node.kind is not Kind.STEP:
            return target
        arrow = f"{self._number(parent)} {self._number(node)}"
        return self._passed.setdefault(arrow, _Passed()).before(target)

    def _number(self, step: Node) -> int:
        """Return a step's number, from 1, as `forebay topology` prints it."""
        return self.component.of_kind(Kind.STEP).index(step) + 1

    def _receiver(self, node: Node, side: int) -> Flow:
        if node.kind is Kind.STEP:
            return self._made[node].flows[side]
        return sending(node)

    def store(self, declared: S) -> S:
        """Return the task's store of that declaration."""
        copied = f"True {declared.name}-{self.component.state_name}"
        for place in (f"False {declared.name}", f"True {declared.name}", copied):
            if place in self._attributes:
                bound = getattr(self, self._attributes[place])
                assert isinstance(bound, type(declared))
                return bound
        raise KeyError(declared.name)

    def view(self, node: Node) -> TableView[Any]:
        """Return where the rows of a node's table are looked up."""
        view = self._views.get(node)
        if view is None:
            assert node.view is not None, f"{node.name} is no table"
            view = self._views[node] = node.view(self)
        return view

    def is_followed(self, node: Node) -> bool:
        """Return whether a node's elements go anywhere."""
        return node in self._children

    def sends_history(self, node: Node) -> bool:
        """Return whether changes that are not the latest of their key are wanted behind a table's node."""
        return any(self._wants_history(child) for child, _ in self._children.get(node, ()))

    def _wants_history(self, node: Node) -> bool:
        return node.history is History.KEEPS or (node.history is History.PASSES and self.sends_history(node))

    def sends_old(self, node: Node) -> bool:
        """Return whether a node after this table asks for old values."""
        return any(child.asks_old for child, _ in self._children.get(node, ()))

    def after_record(self, out: Flow, timer: Timer, action: Callable[[Context[Any]], None], ctx: Context[Any]) -> bool:
        """Have an action that passes elements to `out` follow the record; return False if it can be done now.

        It follows the record for which a timer fires, and a record for the rest of which a join behind `out` waits.
        """
        task: Any = ctx
        follows: bool = task.record_follows or (
            task.message is not None and any(output.depth for output in self._behind[out])
        )
        if follows:
            self._after[action] = timer
        return follows

    def apart(self, timer: Timer, step: Callable[[Context[Any]], None], ctx: Context[Any]) -> None:
        """Run a step as if that timer fired now: if it fails, it is undone and reported alone."""
        task: Any = ctx
        task.apart(timer, undoing(self._deferrals.values(), step) if self._deferrals else step)

    def figures(self) -> Mapping[str, float]:
        return self._figures()

    def passed(self) -> Mapping[str, int]:
        return {arrow: passed.elements for arrow, passed in self._passed.items()}

    def reading(self, topic: str) -> Reading[Any]:
        return self._readings[topic]

    def record_key(self, name: str, key: str) -> str | bytes | None:
        for read in self.component.reads:
            if read.partitioner is not None:
                raise NotSpreadable(
                    f"{read.where}: the repartition {read.name} has partitions or a partitioner of its own, which know "
                    "nothing of other tasks: tasks of such a job can't be given other numbers"
                )
        node = self._of_store.get(name)
        if node is None:
            return self._key_of_timer(name, key)
        if node.is_global:
            return None
        if node.value.type is Subscription:
            return self._owner_of_subscription(node, name, key)
        inner = node.parents[0].key if node.parents else node.key
        store = self._find_store(name)
        if store.key_format is not None and key.startswith(MARK):
            if not store.key_format.is_same(inner):
                raise NotSpreadable(
                    f"{node.where}: the store {name} has {store.key_format} keys, which don't say to which {inner} key "
                    "of the stream they belong: tasks of such a job can't be given other numbers"
                )
            # A mark begins the keys that are not text. They are keys of the stream, because their format is the
            # stream's.
            return owner_of(inner)(key.removeprefix(MARK))
        if isinstance(store, TtlKeyValueStore) and not _is_process(node):
            return owner_of(inner)(split_key(key)[0])
        return owner_of(inner)(key)

    def _key_of_timer(self, name: str, key: str) -> str | bytes | None:
        """Return the record key of a processor's timer; others are the task's."""
        for node in self.nodes:
            if key and node.name.startswith("process ") and name.startswith(f"{node.name}: "):
                return owner_of(node.parents[0].key)(key)
        return None

    def _owner_of_subscription(self, node: Node, name: str, key: str) -> str | bytes:
        if name.endswith("-subscriptions"):
            return owner_of(node.parents[0].key)(owner_of_subscription(key))
        return owner_of(node.parents[0].key)(key)

    def keys_of(self, store: str) -> Callable[[str], Any]:
        """Return what makes a key of its text in a store; a processor's stores return keys themselves."""
        node = self._of_store[store]
        if _is_process(node) or self._find_store(store).key_format is not None:
            return lambda key: key
        if node.value.type is Subscription or isinstance(self.store(self._find_store(store)), TtlKeyValueStore):
            return str
        return (node.parents[0].key if node.parents else node.key).of_row or str

    def key_format_of(self, store: str) -> Format[Any] | None:
        """Return the format of a store's keys; None: they are texts, or the store returns keys itself."""
        node, declared = self._of_store[store], self._find_store(store)
        if _is_process(node) or declared.key_format is not None:
            return None
        if node.value.type is Subscription or isinstance(declared, TtlKeyValueStore):
            return None
        return node.parents[0].key if node.parents else node.key

    def _find_store(self, name: str) -> Store[Any]:
        return next(s for node in self.nodes for s in node.stores if s.name == name)

    def process(self, event: Any, ctx: Context[Any]) -> None:
        self._entries[ctx.topic](ctx.key, event, ctx.timestamp, ctx)
        if self._after:
            self._finish(ctx)

    def removed(self, topic: str, ctx: Context[Any]) -> None:
        self._entries[topic](ctx.key, None, ctx.timestamp, ctx)
        if self._after:
            self._finish(ctx)

    def _finish(self, ctx: Context[Any]) -> None:
        """Do what was to follow the record; what a failed record left is done now, too."""
        # Replace the actions before they run. An action that fails must not run again after the next record.
        actions, self._after = self._after, {}
        for action, timer in actions.items():
            self.apart(timer, action, ctx)

    def on_wall_clock(self, now: int, ctx: Context[Any]) -> None:
        for punctuation, node in self._punctuated:
            on_wall_clock = self._made[node].on_wall_clock
            if punctuation.is_due(now) and on_wall_clock is not None:
                # Each call is isolated, so that a processor that fails does not keep the others from being called.
                self.apart(Timer(now, "wall clock", ""), partial(on_wall_clock, now), ctx)

    def on_timer(self, timer: Timer, ctx: Context[Any]) -> None:
        for name, node in self._timers:
            if timer.name == name or (name.endswith(": ") and timer.name.startswith(name)):
                on_timer = self._made[node].on_timer
                assert on_timer is not None
                on_timer(timer, ctx)
                return


def _is_process(node: Node) -> bool:
    return node.name.startswith("process ")


class _Passed:
    """Counts the elements that go along an arrow from step to step."""

    __slots__ = ("elements",)

    def __init__(self) -> None:
        self.elements = 0

    def before(self, target: Flow) -> Flow:
        """Return a flow that counts the elements and passes them on."""

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            self.elements += 1
            target(key, value, timestamp, ctx)

        return flow


def _to_all(targets: Sequence[Flow]) -> Flow:
    # The common case. A loop over one target would cost every record a call at every node.
    if len(targets) == 1:
        return targets[0]

    def every(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        for target in targets:
            target(key, value, timestamp, ctx)

    return every if targets else _nowhere


def _nowhere(_key: Any, _value: Any, _timestamp: int, _ctx: Context[Any]) -> None:
    """Take an element of a node without successors."""


def _latest(target: Flow) -> Flow:
    """Return a flow that leaves out changes which are not the latest of their key."""

    def flow(key: Any, change: Any, timestamp: int, ctx: Context[Any]) -> None:
        if change.is_latest:
            target(key, change, timestamp, ctx)

    return flow
