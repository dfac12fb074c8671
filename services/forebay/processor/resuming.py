"""Processors and functions that depend on the records before, so that they must know where a task resumes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Resuming(Protocol):
    """A processor or function that depends on the position at which a task resumes."""

    def resume_after_commit(self, stream_time: int) -> None:
        """Prepare for the records after a committed position.

        It is called when the task is opened, and before a commit is repeated.

        Args:
            stream_time: Stream time of the position, in ms; -1 before the first record.
        """
        ...
