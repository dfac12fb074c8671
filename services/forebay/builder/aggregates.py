"""Nodes that aggregate the records of one or several streams by key, window or session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from forebay.builder.deferral import pass_all
from forebay.builder.keys import row_of, session_windowed, windowed_by_start
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node, TopologyError
from forebay.builder.views import InSessions, InWindows
from forebay.formats import Format
from forebay.operators.closing import Closing
from forebay.operators.folds import Fold
from forebay.operators.results import Emission, Outcome, WindowResult
from forebay.operators.session import Closed, SessionAggregate
from forebay.operators.sliding import SlidingAggregate
from forebay.operators.stream import StreamAggregate
from forebay.operators.table import Change, change_of_row
from forebay.operators.window import WindowAggregate
from forebay.processor.api import Context, Timer
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore
from forebay.time.base import Windows
from forebay.time.durations import Duration, ms_of
from forebay.time.sessions import SessionWindows
from forebay.time.windows import SlidingWindows, TimeWindows, UnlimitedWindows

AnyWindows = Windows | SlidingWindows | SessionWindows
AnyFold = Fold[Any, Any]
_KINDS = {TimeWindows: "hopping", UnlimitedWindows: "unlimited"}
_GiveFinals = Callable[[Iterable[WindowResult[Any]], Context[Any]], None]


class _Aggregate(Protocol):
    def process(self, key: str, value: Any, timestamp: int, now: int) -> Outcome[Any]: ...
    def close(self, now: int) -> list[WindowResult[Any]]: ...
    def next_close(self) -> int | None: ...


def aggregate(parents: Sequence[Node], folds: Sequence[AnyFold], into: Format[Any], store: str) -> Node:
    """Return the node that maintains one aggregate per key, of one or several streams."""
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
        # Like Kafka Streams, an aggregation skips records without a key. No task could own their aggregate.
        update = None if key is None else change(key, value, timestamp)
        if update is not None:
            out(key, update, update.timestamp, ctx)

    return flow


def windowed_aggregate(
    parents: Sequence[Node],
    windows: AnyWindows,
    folds: Sequence[AnyFold],
    into: Format[Any],
    store: str,
    emission: Emission,
    retention_ms: Duration,
) -> Node:
    """Return the node that maintains one aggregate per key and window.

    Raises:
        TopologyError: The windows do not allow the emission, the fold or the retention.
    """
    if isinstance(windows, UnlimitedWindows) and emission is not Emission.UPDATES:
        raise TopologyError(
            f"store {store}: an unlimited window never closes, so it has no final result: set emit=Emission.UPDATES"
        )
    if isinstance(windows, SessionWindows) and any(fold.merge is None for fold in folds):
        raise TopologyError(
            f"store {store}: sessions can merge, but the fold has no merge function: pass merge= to the Fold"
        )
    inner = parents[0].key
    try:
        declared = _declare_store(windows, into, store, ms_of(retention_ms))
        # Create the operators once here, so that a retention that is too short for the windows fails at the line that
        # declares it and not when a task starts.
        for fold in folds:
            _operator(declared, windows, fold, emission)
    except ValueError as error:
        raise TopologyError(str(error)) from error
    if isinstance(windows, SessionWindows):
        # A session is closed strictly after end + gap + grace, so the horizon is one ms past the retention.
        key, horizon = session_windowed(inner), windows.retention_ms + 1
    else:
        key = windowed_by_start(inner, windows.window_from)
        horizon = 0 if isinstance(windows, UnlimitedWindows) else windows.retention_ms

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(declared)
        operators = [_operator(own, windows, fold, emission) for fold in folds]
        closing = Closing(own.marks, f"close: {store}")
        # All folds of a cogroup share one store, so the first operator closes the windows of all of them.
        first = operators[0]

        def on_timer(_timer: Timer, ctx: Context[Any]) -> None:
            give_finals(first.close(ctx.closing_time), ctx)
            closing.schedule_next(ctx, first.next_close())

        def give_finals(finals: Iterable[WindowResult[Any]], ctx: Context[Any]) -> None:
            # Each result is processed separately. A result that fails must not be due again with every later record.
            for final in finals:
                bound.apart(Timer(final.timestamp, closing.timer, final.key), partial(give_final, final), ctx)

        def give_final(final: WindowResult[Any], ctx: Context[Any]) -> None:
            # With Emission.BOTH the row was already sent as an update, so the final result changes nothing.
            same_row = (None if final.value is None else Stamped(final.value, final.timestamp),)
            _give((final,), same_row if emission is Emission.BOTH else (), out, ctx)

        flows = tuple(_folding_in_windows(aggregate, closing, give_finals, out) for aggregate in operators)
        return Made(flows, closing.timer, on_timer)

    return Node(
        Kind.STEP,
        f"aggregate to {into} by {_word(windows)}",
        key,
        into,
        tuple(parents),
        stores=(declared,),
        make=make,
        view=lambda bound: _view(bound.store(declared), emission),
        asks_old=False,
        # A record that extends a session deletes its row and puts another one.
        changes_rows_again=isinstance(windows, SessionWindows),
        gives_rows=True,
        horizon_ms=horizon,
        windows=windows,
    )


def _folding_in_windows(operator: _Aggregate, closing: Closing, give_finals: _GiveFinals, out: Flow) -> Flow:
    def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if key is None or value is None:
            return
        outcome = operator.process(key, value, timestamp, ctx.closing_time)
        if outcome.refused:
            ctx.late(outcome.late_by_ms)
        if outcome.closes_at is not None:
            closing.watch(ctx, outcome.closes_at)
        _give(outcome.updates, outcome.before, out, ctx)
        give_finals(outcome.finals, ctx)

    return flow


def _give(
    results: Iterable[WindowResult[Any]], before: Sequence[Stamped[Any] | None], out: Flow, ctx: Context[Any]
) -> None:
    pass_all(out, _changes(results, before), ctx)


def _changes(
    results: Iterable[WindowResult[Any]], before: Sequence[Stamped[Any] | None]
) -> Iterator[tuple[str, Change[Any], int]]:
    for index, (key, window, value, timestamp) in enumerate(results):
        row = row_of(key, window)
        yield row, change_of_row(row, value, before[index] if before else None, timestamp), timestamp


def check_windows(windows: object) -> None:
    """Raise TopologyError if an object is not a supported kind of windows."""
    if not isinstance(windows, AnyWindows):
        raise TopologyError(
            f"windowed_by({windows!r:.60}): pass tumbling(size_ms), hopping(size_ms, "
            "advance_ms), SlidingWindows, SessionWindows or UnlimitedWindows, or a subclass "
            "of forebay.time.Windows"
        )
    size = windows.size_ms if isinstance(windows, Windows) and hasattr(windows, "size_ms") else None
    if isinstance(windows, Windows) and not (isinstance(size, int) and size > 0):
        raise TopologyError(
            f"windowed_by({windows!r:.60}): size_ms is {size!r}: set it to the length of the longest window in ms"
        )


def _declare_store(
    windows: AnyWindows, into: Format[Any], store: str, retention_ms: int
) -> WindowStore[Any] | SessionStore[Any]:
    """Return the declaration of an aggregate's store. A retention of 0 means as long as the windows may change."""
    if isinstance(windows, SessionWindows):
        return SessionStore(store, into, retention_ms=retention_ms or windows.retention_ms)
    size = max(1, windows.difference_ms) if isinstance(windows, SlidingWindows) else windows.size_ms
    # A sliding window with a difference of 0 ms needs a retention, too.
    retention = retention_ms or max(size, windows.retention_ms)
    declared = WindowStore(store, into, size_ms=size, retention_ms=retention, window_from=windows.window_from)
    # The kind of windows is part of the declaration, because rows of one kind have starts that the other kinds do not
    # have. The rows stay usable if only the advance changes. How a user's class assigns windows is unknown, so its
    # attributes identify it.
    if isinstance(windows, SlidingWindows):
        declared.windows = "sliding"
    else:
        declared.windows = _KINDS.get(type(windows)) or windows.identity
    return declared


def _operator(
    store: WindowStore[Any] | SessionStore[Any], windows: AnyWindows, fold: AnyFold, emission: Emission
) -> _Aggregate:
    if isinstance(store, SessionStore):
        assert isinstance(windows, SessionWindows)
        assert fold.merge is not None
        closed = Closed.KEEP if emission is Emission.FINAL else Closed.MERGE
        return SessionAggregate(store, windows, fold.initial, fold.add, fold.merge, emission=emission, closed=closed)
    if isinstance(windows, SlidingWindows):
        return SlidingAggregate(store, windows, initial=fold.initial, add=fold.add, emission=emission)
    assert not isinstance(windows, SessionWindows)
    return WindowAggregate(store, windows, fold.initial, fold.add, emission=emission)


def _view(store: WindowStore[Any] | SessionStore[Any], emission: Emission) -> InWindows | InSessions:
    if isinstance(store, SessionStore):
        return InSessions(store, emission)
    return InWindows(store, is_final=emission is Emission.FINAL)


def _word(windows: AnyWindows) -> str:
    if isinstance(windows, SessionWindows):
        return "session"
    if isinstance(windows, SlidingWindows):
        return "sliding window"
    return "unlimited window" if isinstance(windows, UnlimitedWindows) else "window"
