"""The effects of the record or timer in hand: its puts, outputs and timers, kept or undone together."""

from __future__ import annotations

from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.timers import Timers
from forebay.stores.rows import Journal


class Effects:
    """Keeps or undoes what one record or timer did."""

    __slots__ = ("_context", "_journal", "_timers")

    def __init__(self, context: TaskContext, journal: Journal, timers: Timers) -> None:
        self._context = context
        self._journal = journal
        self._timers = timers

    def check_puts(self) -> None:
        """Encode every row that was put. Raises EncodeError."""
        for rows, key, _, _ in self._journal.entries:
            rows.check(key)

    def keep(self) -> None:
        """Keep what was done."""
        self._journal.entries.clear()
        operations = self._context.timer_ops
        if operations:
            for name, key, due in operations:
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
