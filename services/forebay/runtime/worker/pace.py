"""Reports the progress of changelog replay."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable

from confluent_kafka import Consumer, TopicPartition

from forebay.runtime.errors import Unavailable

log = logging.getLogger(__name__)

_LOG_SECONDS = 5.0
_COMMIT_SECONDS = 1.0

Reached = Iterable[tuple[str, int, int, int]]
"""Topic, partition, the offset after the last record read, and the number of bytes read."""


class Pace:
    """Reports progress: in the log every few seconds, to the consumer's group every second.

    Args:
        consumer: consumer of the group to which progress is committed (see `restore_progress`); None: no group.
    """

    def __init__(self, name: str, consumer: Consumer | None) -> None:
        self._name = name
        self._consumer = consumer
        self._begun = self._heard = self._logged = self._committed_at = time.monotonic()
        self._records = self._bytes = 0

    def took(self, records: int, size: int, stall_seconds: float) -> None:
        """Count records and bytes that arrived. Raises Unavailable if none have arrived for `stall_seconds`."""
        now = time.monotonic()
        self._records += records
        self._bytes += size
        if records:
            self._heard = now
        elif now - self._heard > stall_seconds:
            raise Unavailable(f"{self._name}: the broker has sent no changelog records for {stall_seconds:.0f} s")
        if now - self._logged > _LOG_SECONDS:
            self._logged = now
            log.info("%s: restoring: %s", self._name, self._figures(now))

    def commit(self, reached: Reached) -> None:
        """Commit progress to the group, once a second."""
        now = time.monotonic()
        if self._consumer is not None and self._records and now - self._committed_at > _COMMIT_SECONDS:
            self._committed_at = now
            offsets = [TopicPartition(topic, number, offset, str(size)) for topic, number, offset, size in reached]
            # Only for display: reading does not wait for it, and nothing depends on it.
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def finish(self, rows: int, reached: Reached) -> None:
        """Report the end if anything was read. The tables contain `rows` rows."""
        if self._records:
            self._committed_at = -math.inf
            self.commit(reached)
            log.info("%s: restored %d rows: %s", self._name, rows, self._figures(time.monotonic()))

    def _figures(self, now: float) -> str:
        seconds = max(now - self._begun, 1e-3)
        return (
            f"{self._records} records in {seconds:.1f} s, {self._records / seconds:.0f} records/s, "
            f"{self._bytes / seconds / 1e6:.1f} MB/s"
        )
