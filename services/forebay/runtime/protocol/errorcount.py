"""How many of a task's latest records failed."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.processor.batch import BatchResult

WINDOW = 1_000
"""Records of a task whose share of failures counts, about: older ones lose weight batch by batch."""

FEWEST = 100
"""Failures below which no share stops a job; a share of 0 is passed by the first one."""


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many of a task's latest records failed; part of its state, so that a replay decides the same."""

    records: int = 0
    errors: int = 0

    def after(self, result: BatchResult) -> ErrorCount:
        """Return the count with a batch's records added."""
        records = self.records + sum(result.records_by_topic.values())
        return ErrorCount(records, self.errors + len(result.errors))

    def fade(self) -> ErrorCount:
        """Return the count scaled down to the window."""
        # Scaled down, not cut off: the position keeps two numbers in place of the outcome of the latest 1,000 records.
        if self.records <= WINDOW:
            return self
        return ErrorCount(WINDOW, self.errors * WINDOW // self.records)


NO_ERRORS = ErrorCount()
