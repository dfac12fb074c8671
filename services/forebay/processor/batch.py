"""The result of a task's commit, and the task's times after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from forebay.processor.messages import Output, SideRecord
from forebay.stores.table import Change
from forebay.stores.upgrade import Conversion


@dataclass(frozen=True, slots=True)
class Position:
    """The times of a task, in ms; -1 before the first record."""

    stream_time: int = -1
    closing_time: int = -1


@dataclass(slots=True)
class BatchResult:
    """The result of a task's commit: records to send and rows to change.

    `onward` contains the records for repartitions, `outputs` those for output topics. `rows_sent` is the number of rows
    that were sent to added stores (see filling.py).
    """

    outputs: list[Output] = field(default_factory=list)
    onward: list[Output] = field(default_factory=list)
    errors: list[SideRecord] = field(default_factory=list)
    late: list[SideRecord] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    records_by_topic: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    timers_fired: int = 0
    rows_sent: int = 0
    position: Position = Position()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.records_by_topic or self.outputs or self.onward or self.errors or self.late or self.changes)


def latest(outputs: list[Output], tables: frozenset[str]) -> list[Output]:
    """Return the outputs without rows of `tables` that a later row of the same key replaces."""
    last = {(output.target, output.key): index for index, output in enumerate(outputs) if output.target in tables}
    return [o for i, o in enumerate(outputs) if o.target not in tables or last[o.target, o.key] == i]
