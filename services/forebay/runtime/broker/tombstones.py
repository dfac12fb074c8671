"""How long a follower of changelogs may be cut off: compaction removes deletes, and with them the news of them."""

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
    """Return for how long the topics keep deletes, in seconds; Kafka's default where we may not see it."""
    try:
        descriptions = TopicAdmin(kafka, _ANSWER_SECONDS).describe(topics).values()
    except KafkaRefused as error:
        log.info("delete.retention.ms of the changelogs can't be read, assuming %d ms: %s", DELETE_RETENTION_MS, error)
        return DELETE_RETENTION_MS / 1000
    retentions = [int(topic.config.get(DELETE_RETENTION, DELETE_RETENTION_MS)) for topic in descriptions]
    return min(retentions, default=DELETE_RETENTION_MS) / 1000


class TombstoneWatch:
    """Detects that deletes may be gone which were never read.

    A delete is kept for `kept` seconds at least. A reader that was at the end less than that ago
    has missed none. A sleeping machine stops the monotonic clock, and the other clock may be set back, so the
    clock on which more time has passed counts.
    """

    def __init__(self, kept: float, clocks: tuple[Clock, ...] = (time.time, time.monotonic)) -> None:
        self._kept = kept
        self._clocks = clocks
        self._read: tuple[float, ...] | None = None

    def now(self) -> tuple[float, ...]:
        """Return the time by all clocks."""
        return tuple(clock() for clock in self._clocks)

    def all_read(self, at: tuple[float, ...]) -> None:
        """Learn that everything was read that was there at a time."""
        self._read = at

    def missed_seconds(self) -> float:
        """Return for how many seconds deletes may have gone unread that are not kept any more; 0 if none have."""
        if self._read is None:
            return 0.0
        away = max(now - then for now, then in zip(self.now(), self._read, strict=True))
        return away if away > self._kept else 0.0
