"""Finds the record that makes its task run out of memory."""

from __future__ import annotations

from forebay.processor.batch import BatchResult


class Suspicion:
    """Narrows a task's next commits down to the record at which the last one ran out of memory.

    The records before it are committed first. Then it is committed alone: if memory runs out again, it is to blame.
    Without this, commits would be halved until one of them holds that record alone, which takes a restore each time.
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
        """Note that memory ran out after `before` records of a commit."""
        self._before, self._follows = before, True

    def on_commit(self, result: BatchResult) -> None:
        """Note that a commit is through.

        A commit without records, of a task that only announces its time, says nothing about the suspected record.
        """
        records = sum(result.records_by_topic.values())
        if self._before:
            self._before = max(0, self._before - records)
        elif records or result.timers_fired or result.errors:
            self._follows = False
