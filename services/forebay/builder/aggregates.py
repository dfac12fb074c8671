"""Nodes that fold records: by key, by window, by session, of one stream or of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from forebay.builder.graph import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.builder.keys import row_of, session_windowed, windowed
from forebay.builder.views import InSessions, InWindows
from forebay.formats import Format
from forebay.operators.closing import Closing
from forebay.operators.folds import Fold
from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.operators.session import Closed, SessionAggregate
from forebay.operators.sliding import SlidingAggregate
from forebay.operators.stream import StreamAggregate
from forebay.operators.table import Change
from forebay.operators.window import WindowAggregate
from forebay.processor.api import Context, Timer
from forebay.stores.materialized import beside
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.window import Duplicates, WindowStore
from forebay.time.sessions import SessionWindows
from forebay.time.windows import SlidingWindows, TimeWindows, UnlimitedWindows

Windows = TimeWindows | SlidingWindows | SessionWindows | UnlimitedWindows
AnyFold = Fold[Any, Any]


class _Aggregate(Protocol):
    def process(self, key: str, value: Any, timestamp: int, now: int) -> Outcome[Any]: ...
    def close(self, now: int) -> list[WindowResult[Any]]: ...
    def next_close(self) -> int | None: ...


def aggregate(parents: Sequence[Node], folds: Sequence[AnyFold], into: Format[Any], store: str) -> Node:
    """Return the node that keeps one aggregate per key, of one stream or of several."""
    declared: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(store, into)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)
        return Made(tuple(_folding(StreamAggregate(own, fold), out) for fold in folds))

    return Node(
        Kind.STEP,
        f"aggregate to {into}",
        parents[0].key,
        into,
        tuple(parents),
        stores=(declared,),
        make=make,
        view=lambda bound: bound.store(declared),
        asks_old=False,
        gives_rows=True,
    )


def _folding(operator: StreamAggregate[Any, Any], out: Flow) -> Flow:
    change = operator.change

    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        found = None if key is None else change(key, value, timestamp)
        if found is not None:
            out(key, found, found.timestamp, ctx)

    return flow


def windowed_aggregate(
    parents: Sequence[Node],
    windows: Windows,
    folds: Sequence[AnyFold],
    into: Format[Any],
    store: str,
    emission: Emission,
    retention_ms: int,
) -> Node:
    """Return the node that keeps one aggregate per key and window. Raises ValueError, TopologyError."""
    if isinstance(windows, UnlimitedWindows) and emission is not Emission.UPDATES:
        raise TopologyError(f"store {store}: an unlimited window never closes; give its updates: emit=Emission.UPDATES")
    if isinstance(windows, SessionWindows) and any(fold.merge is None for fold in folds):
        raise TopologyError(f"store {store}: sessions merge, but the fold has no merge: give it one")
    retention = retention_ms or windows.retention_ms
    inner, values = parents[0].key, parents[0].value
    declared: WindowStore[Any] | SessionStore[Any]
    kept: WindowStore[Any] | None = None
    if isinstance(windows, SessionWindows):
        declared, key = SessionStore(store, into, retention_ms=retention), session_windowed(inner)
        horizon = windows.retention_ms + 1
    elif isinstance(windows, SlidingWindows):
        size = max(1, windows.difference_ms)
        declared = WindowStore(store, into, size_ms=size, retention_ms=max(size, retention))
        if len(parents) > 1:
            raise TopologyError(f"store {store}: several streams can't share sliding windows; use windows of time")
        kept = WindowStore(
            beside(store, "records"), values, size_ms=1, retention_ms=windows.retention_ms, duplicates=Duplicates.KEEP
        )
        key, horizon = windowed(inner, windows.difference_ms), windows.retention_ms
    else:
        declared = WindowStore(store, into, size_ms=windows.size_ms, retention_ms=retention)
        key = windowed(inner, windows.size_ms)
        horizon = 0 if isinstance(windows, UnlimitedWindows) else windows.retention_ms
    for fold in folds:
        _operator(declared, kept, windows, fold, emission)

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)
        records = None if kept is None else bound.store(kept)
        operators = [_operator(own, records, windows, fold, emission) for fold in folds]
        closing = Closing(own.marks, f"close: {store}")
        first = operators[0]

        def on_timer(_timer: Timer, ctx: Context[Any]) -> None:
            _give(first.close(ctx.closing_time), (), out, ctx)
            closing.fired(ctx, first.next_close())

        return Made(tuple(_folding_in_windows(each, closing, out) for each in operators), closing.timer, on_timer)

    return Node(
        Kind.STEP,
        f"aggregate to {into} by {_word(windows)}",
        key,
        into,
        tuple(parents),
        stores=(declared,) if kept is None else (declared, kept),
        make=make,
        view=lambda bound: _view(bound.store(declared)),
        asks_old=False,
        gives_rows=True,
        horizon_ms=horizon,
    )


def _folding_in_windows(operator: _Aggregate, closing: Closing, out: Flow) -> Flow:
    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if key is None or value is None:
            return
        outcome = operator.process(key, value, timestamp, ctx.closing_time)
        if outcome.refused:
            ctx.late(outcome.late_by_ms)
        if outcome.closes_at is not None:
            closing.watch(ctx, outcome.closes_at)
        _give(outcome.updates, outcome.before, out, ctx)
        _give(outcome.finals, (), out, ctx)

    return flow


def _give(results: Iterable[WindowResult[Any]], before: Sequence[Any], out: Flow, ctx: Context[Any]) -> None:
    for index, (key, window, value, timestamp) in enumerate(results):
        row = row_of(key, window)
        out(row, Change(row, value, before[index] if before else None, timestamp), timestamp, ctx)


def check_windows(windows: object) -> None:
    """Refuse what is no kind of windows. Raises TopologyError."""
    if not isinstance(windows, Windows):
        raise TopologyError(
            f"windowed_by({windows!r:.60}): give tumbling(size_ms), hopping(size_ms, advance_ms), SlidingWindows, "
            "SessionWindows or UnlimitedWindows"
        )


def _operator(
    store: WindowStore[Any] | SessionStore[Any],
    records: WindowStore[Any] | None,
    windows: Windows,
    fold: AnyFold,
    emission: Emission,
) -> _Aggregate:
    if isinstance(store, SessionStore):
        assert isinstance(windows, SessionWindows)
        assert fold.merge is not None
        closed = Closed.KEEP if emission is Emission.FINAL else Closed.MERGE
        return SessionAggregate(store, windows, fold.initial, fold.add, fold.merge, emission=emission, closed=closed)
    if isinstance(windows, SlidingWindows):
        assert records is not None
        return SlidingAggregate(records, store, windows, initial=fold.initial, add=fold.add, emission=emission)
    assert not isinstance(windows, SessionWindows)
    return WindowAggregate(store, windows, fold.initial, fold.add, emission=emission)


def _view(store: WindowStore[Any] | SessionStore[Any]) -> InWindows | InSessions:
    return InSessions(store) if isinstance(store, SessionStore) else InWindows(store)


def _word(windows: Windows) -> str:
    if isinstance(windows, SessionWindows):
        return "session"
    if isinstance(windows, SlidingWindows):
        return "sliding window"
    return "window" if isinstance(windows, TimeWindows) else "unlimited window"
