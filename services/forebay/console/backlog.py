"""The lag of a job that does not run, computed from its committed offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from forebay.codec import Unavailable
from forebay.console.job_address import WatchedJob
from forebay.kafka.errors import KafkaRefused

_EVERY_S = 10.0
"""Interval of requests for a stopped job, which is longer than that of reports."""

Lag = Callable[[str, Sequence[str]], Mapping[str, int]]
"""Returns a job's lag by topic, from its application id and its inputs. Raises Unavailable, KafkaRefused."""


class BacklogReader:
    """Reads the lag of one job.

    Args:
        lag: returns the lag from the broker.
        monotonic: clock, in seconds.
    """

    def __init__(self, job: WatchedJob, lag: Lag, monotonic: Callable[[], float] = time.monotonic) -> None:
        inputs = job.service.as_application(job.application).inputs
        self._topics = [topic.name for topic in inputs]
        self._application = job.application
        self._lag = lag
        self._monotonic = monotonic
        self._due_at = 0.0
        self._latest: Mapping[str, int] = {}

    def read(self) -> Mapping[str, int]:
        """Return the lag by topic; {} if the job never committed or the broker does not answer."""
        now = self._monotonic()
        if now >= self._due_at:
            try:
                self._latest = self._lag(self._application, self._topics)
            except (Unavailable, KafkaRefused):
                self._latest = {}
            self._due_at = self._monotonic() + _EVERY_S
        return self._latest

    def forget(self) -> None:
        """Discard the cached lag, because the job has run in the meantime."""
        self._due_at = 0.0
