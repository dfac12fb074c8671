"""How many of a task's latest records failed."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.processor.batch import BatchResult

WINDOW = 1_000
"""Approximate number of latest records whose share of failures counts. Older records lose weight in each commit."""

FEWEST = 100
"""Number of failures below which no share stops a job. If no failures are allowed, the first one stops it."""


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many of a task's latest records failed. It is part of the position, so that a restart does not reset it."""

    records: int = 0
    errors: int = 0

    def after(self, result: BatchResult) -> ErrorCount:
        """Return the count with a commit's records added."""
        records = self.records + sum(result.records_by_topic.values()) + result.rows_sent
        return ErrorCount(records, self.errors + len(result.errors))

    def fade(self) -> ErrorCount:
        """Return the count scaled down to the window."""
        # Scaled down, because the position has only two numbers, not the outcome of each of the latest 1,000 records.
        if self.records <= WINDOW:
            return self
        return ErrorCount(WINDOW, self.errors * WINDOW // self.records)


NO_ERRORS = ErrorCount()
