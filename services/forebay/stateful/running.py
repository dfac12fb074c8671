"""Execution of a StatefulProcessor in a task, with one call for each record and each expired timer."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, TimerValues

from forebay.builder.nodes import Bound, Flow
from forebay.processor.api import Context, RejectedRecord, Timer
from forebay.stateful.handles import NoRows, TaskHandle, TimeMode, Variable
from forebay.stateful.states import Grouping
from forebay.stateful.stores import ExpiringStateStore, StateStore, TimerStore
from forebay.stateful.timing import Timers

Convert = Callable[[Any], Any]

FIRST_MS = 1
"""Smallest timestamp (ms) of an output, because Kafka clients replace 0 by the current time."""


@dataclass(frozen=True)
class Plan:
    """The configuration that all tasks share.

    Args:
        label: Prefix of the names of the task's timers.
        mode: The time mode.
        make: Creates an instance of the user's class.
        variables: State variables by name.
        deleted: State variables that init() requests and then deletes.
        stores: Declarations of the stores, by name of the state variable.
        timers: Declaration of the store of timers. None if the time mode has no timers.
        delay_ms: Time (ms) by which the watermark is behind stream time.
        key_of: Converts a key's row text to the tuple of grouping columns.
        row_of: Converts an input value to a Row.
        initial_row_of: Converts a value of the initial state to a Row. None if there is no initial state.
        value_of: Converts a Row to an output value.
    """

    label: str
    mode: TimeMode
    make: Callable[[], StatefulProcessor]
    variables: dict[str, Variable]
    deleted: dict[str, Variable]
    stores: dict[str, StateStore | ExpiringStateStore]
    timers: TimerStore | None
    delay_ms: int
    key_of: Callable[[str], tuple[Any, ...]]
    row_of: Convert
    initial_row_of: Convert | None
    value_of: Convert


class Runner:
    """Runner of a task's instance of the user's class."""

    def __init__(self, plan: Plan, bound: Bound, out: Flow) -> None:
        self._plan, self._bound, self._out = plan, bound, out
        self._grouping = Grouping()
        stores = {name: bound.store(store) for name, store in plan.stores.items()}
        self._expiring = [store for store in stores.values() if isinstance(store, ExpiringStateStore)]
        states = {name: plan.variables[name].state(self._grouping, store) for name, store in stores.items()}
        for name, variable in plan.deleted.items():
            rows: Any = NoRows(f"the state {name} was deleted with deleteIfExists()")
            states[name] = variable.state(self._grouping, rows)
        is_event_time = plan.mode is TimeMode.EVENT_TIME
        self._timers = None
        if plan.timers is not None:
            delay_ms = plan.delay_ms if is_event_time else None
            self._timers = Timers(bound.store(plan.timers), self._grouping, plan.label, delay_ms)
        self._processor = plan.make()
        handle = TaskHandle(states, None if self._timers is None else self._timers.calls)
        self._processor.init(handle)
        handle.is_initialized = True
        self._is_event_time, self._has_times = is_event_time, plan.mode is not TimeMode.NONE
        self._key_of, self._row_of, self._value_of = plan.key_of, plan.row_of, plan.value_of
        # There is no call that ends a task. Therefore call close() when the task is garbage-collected, or when the
        # process exits.
        weakref.finalize(self, self._processor.close)

    def take(self, text: str | None, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        """Pass a record to the class, and send the rows that it returns."""
        if self._is_event_time and self._is_late(timestamp, ctx):
            return
        row = self._row_of(self._require_value(text, value))
        assert text is not None
        values = self._begin(text, ctx)
        rows = self._processor.handleInputRows(self._key_of(text), iter((row,)), values)
        self._send(rows, text, timestamp, ctx)

    def take_initial(self, text: str | None, value: Any, _timestamp: int, ctx: Context[Any]) -> None:
        """Pass a row of initial state to the class."""
        assert self._plan.initial_row_of is not None
        row = self._plan.initial_row_of(self._require_value(text, value))
        assert text is not None
        values = self._begin(text, ctx)
        self._processor.handleInitialState(self._key_of(text), row, values)
        self._grouping.end()

    def on_timer(self, timer: Timer, ctx: Context[Any]) -> None:
        """Fire an event-time timer."""
        assert self._timers is not None
        # All of its timers have keys. Earlier releases wrote a timer of an empty key as one of the whole task.
        self._fire_apart(timer.key or "", self._timers.expiry_of(timer.name), ctx)

    def on_wall_clock(self, now: int, ctx: Context[Any]) -> None:
        """Delete expired state, and fire the processing-time timers that are due."""
        for store in self._expiring:
            store.expire()
        if self._timers is None:
            return
        for expiry, text in self._timers.first_due(now):
            self._fire_apart(text, expiry, ctx)

    def _fire_apart(self, text: str, expiry: int, ctx: Context[Any]) -> None:
        """Fire a timer as a separate unit.

        If the class fails, only the effects of this call are undone, and the error names the timer.
        """
        assert self._timers is not None
        timer = Timer(expiry, self._timers.task_timer_name(expiry), text)
        self._bound.apart(timer, partial(self._fire, text, expiry), ctx)
        # A timer that failed must not fire again.
        self._timers.drop(text, expiry)

    def _fire(self, text: str, expiry: int, ctx: Context[Any]) -> None:
        assert self._timers is not None
        if not self._timers.is_set(text, expiry):
            return
        values = self._begin(text, ctx)
        rows = self._processor.handleExpiredTimer(self._key_of(text), values, ExpiredTimerInfo(expiry))
        self._send(rows, text, max(expiry, FIRST_MS), ctx)

    def _begin(self, text: str, ctx: Context[Any]) -> TimerValues:
        """Begin a call for a grouping key, and return the times that are passed to the class."""
        self._grouping.begin(text)
        if self._timers is not None:
            self._timers.ctx = ctx
        if not self._has_times:
            return TimerValues()
        return TimerValues(ctx.current_system_time, self._watermark(ctx) if self._is_event_time else -1)

    def _send(self, rows: Iterable[Any] | None, text: str, timestamp: int, ctx: Context[Any]) -> None:
        """Send the rows that a call returned, and end the call.

        If the rows are a generator, its code runs here and may still use state. The call ends after the last row.
        """
        if rows is not None:
            out, value_of = self._out, self._value_of
            try:
                for row in rows:
                    out(text, value_of(row), timestamp, ctx)
            finally:
                # Close a generator here, because the code of its `finally` belongs to this call. If the call fails, the
                # changes of this code are undone, too.
                close = getattr(rows, "close", None)
                if close is not None:
                    close()
        self._grouping.end()

    def _watermark(self, ctx: Context[Any]) -> int:
        return max(ctx.closing_time - self._plan.delay_ms, 0)

    def _is_late(self, timestamp: int, ctx: Context[Any]) -> bool:
        """Return whether a record is not later than the watermark, in which case Spark drops it, and report it as late.

        A record with the largest timestamp so far is never late.
        """
        newest = ctx.current_stream_time
        by_ms = newest - self._plan.delay_ms - timestamp
        if by_ms < 0 or timestamp >= newest:
            return False
        ctx.late(by_ms)
        return True

    def _require_value(self, text: str | None, value: Any) -> Any:
        """Return the value of a record that has a key and a value. Raises RejectedRecord."""
        if text is None:
            raise RejectedRecord(f"{self._plan.label}the record has no grouping key: give it one, or drop it before")
        if value is None:
            raise RejectedRecord(f"{self._plan.label}a record without value has no row: call drop_nulls() before")
        return value
