"""Finds the record that makes its task run out of memory."""

from __future__ import annotations

from forebay.processor.batch import BatchResult


class Suspicion:
    """Limits a task's next commits until the record at which memory ran out is alone in a commit.

    The records before it are committed first. Then it is committed alone. If memory runs out again, it is the cause.
    Without this, commits would be halved until one of them contains that record alone, with a restore each time.
    """

    def __init__(self) -> None:
        self._before = 0
        self._follows = False

    @property
    def is_due(self) -> bool:
        """Whether the next record is suspected, and has to be committed alone."""
        return self._follows and not self._before

    def limit(self, most: int) -> int:
        """Return how many records the next commit may have, of `most`."""
        if not self._follows:
            return most
        return min(most, self._before or 1)

    def arose(self, before: int) -> None:
        """Record that memory ran out after `before` records of a commit."""
        self._before, self._follows = before, True

    def on_commit(self, result: BatchResult) -> None:
        """Record a successful commit.

        A commit without records, of a task that only announces its time, does not clear the suspected record.
        """
        records = sum(result.records_by_topic.values())
        if self._before:
            self._before = max(0, self._before - records)
        elif records or result.rows_sent or result.timers_fired or result.errors:
            self._follows = False
