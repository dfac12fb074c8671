"""An independent implementation of the deduplication rule for event ids, which replays use."""

from __future__ import annotations


class Repetitions:
    """The event ids that were accepted.

    An id is stored in a bucket of a tenth of the retention. The bucket expires one retention after its end.

    Args:
        retention_ms: Retention of ids in ms. If it is 0, no id is a repetition.
    """

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self.seen: dict[str, int] = {}

    def known(self, event_id: str | None, time: int) -> bool:
        """Return whether the id was accepted before and has not expired at `time` (ms)."""
        if not self.retention_ms or event_id is None or event_id not in self.seen:
            return False
        bucket_ms = max(1, self.retention_ms // 10)
        return (self.seen[event_id] // bucket_ms + 1) * bucket_ms + self.retention_ms > time

    def accept(self, event_id: str | None, time: int) -> None:
        """Store an id that was accepted at `time` (ms)."""
        if event_id is not None:
            self.seen[event_id] = time
