"""Nodes that need more than an operator: joins with a grace, windows with their timers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from forebay.builder.graph import Bound, Element, Kind, Made, Node, Step, TopologyError
from forebay.operators.closing import Closing
from forebay.operators.folds import Fold
from forebay.operators.results import Emission, Join, Outcome, Result, WindowResult
from forebay.operators.session import Closed, SessionAggregate
from forebay.operators.stream_table import StreamTableJoin
from forebay.operators.table import LatestByOffset, LatestByTimestamp, Table
from forebay.operators.waiting import Waiting
from forebay.operators.window import WindowAggregate
from forebay.processor.api import Context, Timer
from forebay.stores.buffers import JoinBuffer
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.time.sessions import SessionWindows
from forebay.time.windows import TimeWindows

Rows = TimestampedKeyValueStore[Any] | VersionedKeyValueStore[Any]


class Operator(Protocol):
    """An operator that needs no context."""

    def process(self, key: str, value: Any, timestamp: int) -> Iterable[Result[Any]]: ...


class _Aggregate(Protocol):
    def process(self, key: str, value: Any, timestamp: int, now: int) -> Outcome[Any]: ...
    def close(self, now: int) -> list[WindowResult[Any]]: ...
    def next_close(self) -> int | None: ...


def stage_behind(node: Node) -> int:
    """Give the stage of what comes behind a node."""
    return node.stage + (node.kind is Kind.REPARTITION)


def step_of(operator: Operator) -> Step:
    """Give the step of an operator that needs no context."""

    def step(key: str, value: Any, timestamp: int, _ctx: Context[Any]) -> Iterable[Element]:
        return operator.process(key, value, timestamp)

    return step


def table_of(store: Rows) -> Table[Any]:
    """Give a table on a store: the latest by timestamp if it is versioned, else by offset."""
    return LatestByTimestamp(store) if isinstance(store, VersionedKeyValueStore) else LatestByOffset(store)


def table_join(
    parent: Node,
    rows: Rows,
    joiner: Callable[[Any, Any], Any],
    into: type[Any],
    kind: Join,
    grace_ms: int,
    waiting: str,
) -> Node:
    """Give the node that joins a stream with a table. Raises ValueError, TopologyError."""
    if grace_ms and not waiting:
        raise TopologyError(f"store {rows.name}: a join with a grace of {grace_ms} ms needs a store; name it: waiting=")
    buffer = JoinBuffer(waiting, parent.record) if grace_ms else None
    StreamTableJoin(table_of(rows), kind, joiner, buffer=buffer, grace_ms=grace_ms)

    def make(bound: Bound) -> Made:
        table = table_of(bound.store(rows))
        if buffer is None:
            return Made((step_of(StreamTableJoin(table, kind, joiner)),))
        join = StreamTableJoin(table, kind, joiner, buffer=bound.store(buffer), grace_ms=grace_ms)
        held = Waiting(join, f"grace over: {waiting}")
        return Made((held.process,), held.timer, lambda _timer, ctx: held.fired(ctx))

    stores = () if buffer is None else (buffer,)
    name = f"join {rows.name} ({kind.value})"
    return Node(Kind.STEP, name, stage_behind(parent), into, (parent,), stores, make, grace_ms)


def windowed(
    parent: Node,
    windows: TimeWindows | SessionWindows,
    fold: Fold[Any, Any],
    aggregate: type[Any],
    result: Callable[[str, Any, Any], Any],
    into: type[Any],
    store: str,
    emission: Emission,
    retention_ms: int,
) -> Node:
    """Give the node that aggregates in windows. Raises ValueError, TopologyError."""
    retention = retention_ms or windows.retention_ms
    declared: WindowStore[Any] | SessionStore[Any]
    if isinstance(windows, SessionWindows):
        declared, horizon = SessionStore(store, aggregate, retention_ms=retention), windows.retention_ms + 1
    else:
        declared = WindowStore(store, aggregate, size_ms=windows.size_ms, retention_ms=retention)
        horizon = windows.retention_ms
    _aggregate(declared, windows, fold, emission)

    def make(bound: Bound) -> Made:
        own = bound.store(declared)
        operator, closing = _aggregate(own, windows, fold, emission), Closing(own.marks, f"close: {store}")

        def shown(results: Iterable[WindowResult[Any]]) -> list[Element]:
            return [(r.key, result(r.key, r.window, r.value), r.timestamp) for r in results if r.value is not None]

        def step(key: str, value: Any, timestamp: int, ctx: Context[Any]) -> Iterable[Element]:
            if value is None:
                return []
            outcome = operator.process(key, value, timestamp, ctx.closing_time)
            if outcome.refused:
                ctx.late(outcome.late_by_ms)
            if outcome.closes_at is not None:
                closing.watch(ctx, outcome.closes_at)
            return shown(outcome.results)

        def on_timer(_timer: Timer, ctx: Context[Any]) -> Iterable[Element]:
            finals = shown(operator.close(ctx.closing_time))
            closing.fired(ctx, operator.next_close())
            return finals

        return Made((step,), closing.timer, on_timer)

    kind = "session" if isinstance(windows, SessionWindows) else "window"
    name = f"aggregate to {into.__name__} by {kind}"
    return Node(Kind.STEP, name, stage_behind(parent), into, (parent,), (declared,), make, horizon)


def _aggregate(
    store: WindowStore[Any] | SessionStore[Any],
    windows: TimeWindows | SessionWindows,
    fold: Fold[Any, Any],
    emission: Emission,
) -> _Aggregate:
    if isinstance(windows, TimeWindows):
        assert isinstance(store, WindowStore)
        return WindowAggregate(store, windows, fold.initial, fold.add, emission=emission)
    assert isinstance(store, SessionStore)
    if fold.merge is None:
        raise TopologyError(f"store {store.name}: sessions merge, but the fold has no merge: give it one")
    if emission is not Emission.FINAL:
        raise TopologyError(
            f"store {store.name}: sessions give finals only here (their updates take absorbed sessions back, which a "
            "plain key can't tell apart); write a processor with SessionAggregate for more"
        )
    return SessionAggregate(store, windows, fold.initial, fold.add, fold.merge, emission=emission, closed=Closed.KEEP)
