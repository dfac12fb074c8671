"""The deduplication rule for event ids, reimplemented for replays."""

from __future__ import annotations


class Repetitions:
    """Event ids that were accepted.

    An id is kept in a bucket of a tenth of the retention; the bucket expires one retention after its end.

    Args:
        retention_ms: 0 = nothing is a repetition.
    """

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self.seen: dict[str, int] = {}

    def known(self, event_id: str | None, time: int) -> bool:
        """Return whether the id was accepted before and is still remembered by a task at `time` (ms)."""
        if not self.retention_ms or event_id is None or event_id not in self.seen:
            return False
        bucket_ms = max(1, self.retention_ms // 10)
        return (self.seen[event_id] // bucket_ms + 1) * bucket_ms + self.retention_ms > time

    def accept(self, event_id: str | None, time: int) -> None:
        """Remember an id."""
        if event_id is not None:
            self.seen[event_id] = time
