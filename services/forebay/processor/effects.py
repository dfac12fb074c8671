"""The effects of the record or timer in hand: its puts, outputs and timers, kept or undone together."""

from __future__ import annotations

from typing import NamedTuple

from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.timers import Timers
from forebay.stores.rows import Journal


class Savepoint(NamedTuple):
    """How much a record did by some point."""

    outputs: int
    puts: int
    timers: int
    late_by: int
    output_bytes_left: int


class Effects:
    """Keeps or undoes what one record or timer did."""

    __slots__ = ("_context", "_journal", "_timers")

    def __init__(self, context: TaskContext, journal: Journal, timers: Timers) -> None:
        self._context = context
        self._journal = journal
        self._timers = timers

    def check_puts(self, since: int = 0) -> None:
        """Encode every row that was put, from the put of a number on. Raises EncodeError."""
        for rows, key, _, _ in self._journal.entries[since:]:
            rows.check(key)

    def savepoint(self) -> Savepoint:
        """Return what was done so far, so that what follows can be undone alone."""
        context = self._context
        return Savepoint(
            len(context.outputs),
            len(self._journal.entries),
            len(context.timer_ops),
            context.late_by,
            context.output_bytes_left,
        )

    def undo_since(self, point: Savepoint) -> None:
        """Undo what was done since a savepoint."""
        context = self._context
        self._journal.roll_back(point.puts)
        del context.outputs[point.outputs :]
        del context.timer_ops[point.timers :]
        # Outputs that were undone must not count against the record's limit.
        context.late_by, context.output_bytes_left = point.late_by, point.output_bytes_left

    def keep(self) -> None:
        """Keep what was done."""
        self._journal.entries.clear()
        operations = self._context.timer_ops
        if operations:
            for name, key, due in operations:
                # Buffered until here: a timer that a failed record set must never fire.
                if due is None:
                    self._timers.cancel(name, key)
                else:
                    self._timers.schedule(name, key, due)
            operations.clear()

    def undo(self, mark: int) -> None:
        """Undo it; `mark` is the number of outputs before it."""
        self._journal.roll_back()
        self._context.timer_ops.clear()
        self._context.late_by = IN_TIME
        del self._context.outputs[mark:]
