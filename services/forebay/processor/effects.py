"""The effects of the current record or timer: its puts, outputs and timers, which are kept or undone together."""

from __future__ import annotations

from typing import NamedTuple

from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.timers import Timers
from forebay.stores.rows import Journal


class Savepoint(NamedTuple):
    """The extent of a record's effects at a point of its processing."""

    outputs: int
    puts: int
    timers: int
    late_by: int
    output_bytes_left: int


class Effects:
    """The effects of one record or timer, which can be kept or undone."""

    __slots__ = ("_context", "_journal", "_timers")

    def __init__(self, context: TaskContext, journal: Journal, timers: Timers) -> None:
        self._context = context
        self._journal = journal
        self._timers = timers

    def check_puts(self, since: int = 0) -> None:
        """Encode all rows that were put, from put number `since` on. Raise EncodeError if one can't be encoded."""
        for rows, key, _, _ in self._journal.entries[since:]:
            rows.check(key)

    def savepoint(self) -> Savepoint:
        """Return the extent of the effects so far, so that later effects can be undone separately."""
        context = self._context
        return Savepoint(
            len(context.outputs),
            len(self._journal.entries),
            len(context.timer_ops),
            context.late_by,
            context.output_bytes_left,
        )

    def undo_since(self, point: Savepoint) -> None:
        """Undo the effects since a savepoint."""
        context = self._context
        self._journal.roll_back(point.puts)
        del context.outputs[point.outputs :]
        del context.timer_ops[point.timers :]
        # Outputs that were undone must not count against the record's limit.
        context.late_by, context.output_bytes_left = point.late_by, point.output_bytes_left

    def keep(self) -> None:
        """Keep the effects."""
        self._journal.entries.clear()
        operations = self._context.timer_ops
        if operations:
            for name, key, due in operations:
                # Timers are buffered until here, because those that a failed record set must never fire.
                if due is None:
                    self._timers.cancel(name, key)
                else:
                    self._timers.schedule(name, key, due)
            operations.clear()

    def undo(self, mark: int) -> None:
        """Undo the effects. `mark` is the number of outputs before them."""
        self._journal.roll_back()
        self._context.timer_ops.clear()
        self._context.late_by = IN_TIME
        del self._context.outputs[mark:]
