"""The limits of the workers' commits, which get smaller after a worker died for lack of memory."""

from __future__ import annotations

from dataclasses import replace

from forebay.runtime.task.commit_size import CommitSize
from forebay.runtime.task.pacing import Limits


class CommitLimits:
    """What a job's commits may have at most, until workers work steadily again.

    Args:
        full: limits of workers that have the memory for them.
    """

    def __init__(self, full: Limits) -> None:
        self.full = full
        self._size = CommitSize(full.max_records)

    @property
    def now(self) -> Limits:
        """The limits that the next query's workers get."""
        most_bytes = self._size.share_of(self.full.max_bytes) if self.full.max_bytes else 0
        return replace(self.full, max_records=self._size.share_of(self.full.max_records), max_bytes=most_bytes)

    def shrink(self) -> None:
        """Note that a worker died as if it had not had the memory."""
        self._size.on_failure()

    def note_steady(self) -> None:
        """Note that the workers have worked for a while."""
        self._size.on_commit()
