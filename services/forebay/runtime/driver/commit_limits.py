"""The limits of the workers' commits, which get smaller after a worker died for lack of memory."""

from __future__ import annotations

from dataclasses import replace

from forebay.runtime.task.commit_size import CommitSize
from forebay.runtime.task.pacing import Limits


class CommitLimits:
    """The present limits of a job's commits, which grow again once workers run steadily.

    Args:
        full: limits of workers that have enough memory.
    """

    def __init__(self, full: Limits) -> None:
        self.full = full
        self._size = CommitSize(full.max_records)

    @property
    def now(self) -> Limits:
        """The limits for the workers of the next query."""
        most_bytes = self._size.share_of(self.full.max_bytes) if self.full.max_bytes else 0
        return replace(self.full, max_records=self._size.share_of(self.full.max_records), max_bytes=most_bytes)

    def shrink(self) -> None:
        """Lower the limits, because a worker seems to have died for lack of memory."""
        self._size.on_failure()

    def note_steady(self) -> None:
        """Record that the workers have run for a while."""
        self._size.on_commit()
