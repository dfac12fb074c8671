"""The steps of a commit: records, timers, punctuation, and isolated steps of a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.processor.api import AnyProcessor, LateRecord, Timer
from forebay.processor.arrivals import TimerMessage
from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.effects import Effects
from forebay.processor.engine_settings import UNBOUNDED, Bounds
from forebay.processor.messages import Message
from forebay.processor.reports import FAILURES, Reports
from forebay.processor.timers import Timers
from forebay.stores.rows import Journal

_MOST_FIRED_OUTPUTS = 100_000
"""Outputs of a commit above which its timers wait for the next commit."""


class Steps:
    """The steps of a task's commit. The effects of a failed step are undone, and the failure is reported."""

    def __init__(
        self,
        processor: AnyProcessor,
        context: TaskContext,
        effects: Effects,
        journal: Journal,
        timers: Timers,
        reports: Reports,
    ) -> None:
        self._processor = processor
        self._context = context
        self._effects = effects
        self._journal = journal
        self._timers = timers
        self._reports = reports
        self._bounds = UNBOUNDED
        self._most_output_bytes = context.output_bytes_left
        self.checks_puts = False
        """Whether rows are encoded after each record or step, because a row of this commit can't be encoded."""

    def begin(self, bounds: Bounds, *, checks_puts: bool) -> None:
        """Begin a commit."""
        self._bounds, self.checks_puts = bounds, checks_puts

    def attempt(self, message: Message, event: Any, clock: int) -> bool:
        """Process a record. Return whether it succeeded. If it failed or was late, undo its effects and report it."""
        context = self._context
        context.output_bytes_left = self._most_output_bytes
        mark = len(context.outputs)
        try:
            if event is None:
                self._processor.on_delete(context.topic, context)
            else:
                self._processor.process(event, context)
            if self.checks_puts:
                self._effects.check_puts()
        except LateRecord as late:
            # Undo this as well, because the processor may have put rows before it found that the record is late.
            self._effects.undo(mark)
            self._reports.report_late(message, late.by_ms, clock)
            return False
        except FAILURES as error:
            self._effects.undo(mark)
            self._reports.blame(message, error, clock)
            return False
        if context.late_by != IN_TIME:
            self._reports.report_late(message, context.late_by, clock)
            context.late_by = IN_TIME
        # As `Effects.keep` does. Most records set no timer, so they need not pay for the call.
        self._journal.entries.clear()
        if context.timer_ops:
            self._effects.keep()
        return True

    def punctuate(self, now: int) -> None:
        """Call the processor's `on_wall_clock` at `now` (ms)."""
        # No record is to blame if the call fails.
        self._context.message = None
        self._call(Timer(now, "wall clock", None), now, self._processor.on_wall_clock, now)

    def fire(self, clock: int) -> bool:
        """Fire the timers that are due by the context's closing time. Return whether all of them have fired.

        If the time of the commit is over or its outputs become too many, the others fire in the next commit.
        """
        context, fired, bounds, on_timer = self._context, 0, self._bounds, self._processor.on_timer
        context.message = None
        try:
            while (timer := self._timers.pop_due(context.closing_time)) is not None:
                fired += 1
                self._call(timer, clock, on_timer, timer)
                # Each timer is atomic, so the commit may end between any two of them.
                if bounds is not UNBOUNDED and (
                    bounds.monotonic() > bounds.until or len(context.outputs) > _MOST_FIRED_OUTPUTS
                ):
                    # The timer that was just fired may have been the last one that was due.
                    return self._timers.first > context.closing_time
        finally:
            self._reports.result.timers_fired += fired
        return True

    def _call(self, timer: Timer, clock: int, callback: Callable[[Any, Any], None], argument: object) -> None:
        """Call the processor. A failure goes to `.errors`, a LateRecord to `.late`. Both undo the call's effects."""
        context = self._context
        # Outputs get the time at which the timer was due. With the current time, results would depend on how far a
        # backlog has been read.
        context.key, context.timestamp = timer.key, timer.due
        context.output_bytes_left = self._most_output_bytes
        mark = len(context.outputs)
        try:
            callback(argument, context)
            if self.checks_puts:
                self._effects.check_puts()
        except LateRecord as late:
            self._effects.undo(mark)
            self._reports.report_late(TimerMessage(timer), late.by_ms, clock)
        except FAILURES as error:
            self._effects.undo(mark)
            self._reports.blame(TimerMessage(timer), error, clock)
        else:
            self._report_late(timer, clock)
            self._effects.keep()

    def run_alone(self, clock: int, timer: Timer, step: Callable[[TaskContext], None]) -> None:
        """Run a step that belongs to no record, as if a timer fired now."""
        self._context.message = None
        self._call(timer, clock, _run, step)

    def run_isolated(self, step: Callable[[], None]) -> None:
        """Run a step of the current record. If it fails, undo only the step and report the record."""
        message = self._context.message
        # In a timer's call there is no record to report. `_call` undoes and reports the whole call.
        if message is None:
            step()
        else:
            self._try(step, message)

    def run_apart(self, timer: Timer, step: Callable[[TaskContext], None]) -> None:
        """Run a step as if a timer fired now, without the current record, which the step's failure does not affect."""
        context = self._context
        # The current record is still being processed, and continues with its key and time.
        before = context.message, context.key, context.timestamp, context.output_bytes_left, context.late_by
        context.message, context.key, context.timestamp = None, timer.key, timer.due
        context.output_bytes_left, context.late_by = self._most_output_bytes, IN_TIME

        try:
            self._try(lambda: step(context), TimerMessage(timer))
            self._report_late(timer, context.current_system_time)
        finally:
            context.message, context.key, context.timestamp, context.output_bytes_left, context.late_by = before

    def _report_late(self, timer: Timer, clock: int) -> None:
        """Report a timer whose output was too late for a later operator. Its other effects are kept."""
        if self._context.late_by != IN_TIME:
            self._reports.report_late(TimerMessage(timer), self._context.late_by, clock)
            self._context.late_by = IN_TIME

    def _try(self, step: Callable[[], None], message: Message) -> None:
        effects, clock = self._effects, self._context.current_system_time
        point = effects.savepoint()
        try:
            step()
            if self.checks_puts:
                effects.check_puts(point.puts)
        except FAILURES as error:
            effects.undo_since(point)
            if isinstance(error, LateRecord):
                self._context.late_by = max(self._context.late_by, error.by_ms)
                return
            self._reports.blame(message, error, clock)


def _run(step: Callable[[TaskContext], None], context: TaskContext) -> None:
    step(context)
