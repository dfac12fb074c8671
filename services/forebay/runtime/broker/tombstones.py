"""How long a follower of changelogs may be disconnected before compaction removes deletes that it has not read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.settings import KafkaSettings
from forebay.limits.topics import DELETE_RETENTION, DELETE_RETENTION_MS

_ANSWER_SECONDS = 8.0

log = logging.getLogger(__name__)

Clock = Callable[[], float]


def kept_seconds(kafka: KafkaSettings, topics: Iterable[str]) -> float:
    """Return how long (s) the topics keep deletes; Kafka's default if this principal may not read it."""
    try:
        descriptions = TopicAdmin(kafka, _ANSWER_SECONDS).describe(topics).values()
    except KafkaRefused as error:
        log.info("delete.retention.ms of the changelogs can't be read, assuming %d ms: %s", DELETE_RETENTION_MS, error)
        return DELETE_RETENTION_MS / 1000
    retentions = [int(topic.config.get(DELETE_RETENTION, DELETE_RETENTION_MS)) for topic in descriptions]
    return min(retentions, default=DELETE_RETENTION_MS) / 1000


class TombstoneWatch:
    """Detects that deletes may be gone before they were read.

    A delete is kept for at least `kept` seconds, so a reader that was at the end less than that ago has missed none. A
    sleeping machine stops the monotonic clock, and the wall clock may be set back. Therefore the clock on which more
    time has passed counts.
    """

    def __init__(self, kept: float, clocks: tuple[Clock, ...] = (time.time, time.monotonic)) -> None:
        self._kept = kept
        self._clocks = clocks
        self._read: tuple[float, ...] | None = None

    def now(self) -> tuple[float, ...]:
        """Return the time by all clocks."""
        return tuple(clock() for clock in self._clocks)

    def all_read(self, at: tuple[float, ...]) -> None:
        """Record that all records before a time were read."""
        self._read = at

    def missed_seconds(self) -> float:
        """Return how long (s) the reader has been disconnected, if deletes may be gone meanwhile; otherwise 0."""
        if self._read is None:
            return 0.0
        away = max(now - then for now, then in zip(self.now(), self._read, strict=True))
        return away if away > self._kept else 0.0
