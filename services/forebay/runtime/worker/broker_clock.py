"""A worker's estimate of the broker's time, because the worker's own clock may be hours off.

Event times are checked against it. The broker would refuse an event time that is too far in its future, together with
the transaction, and a worker whose clock is behind would send every record to `.errors`.

Kafka has no request for the time. But brokers put their own time into each offset that is committed to a consumer
group, and `ListOffsets` returns the latest time of a partition. A job commits to its control group every second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from forebay.runtime.spec import JobSpec
from forebay.runtime.task.clock import now_ms, seconds_since_boot

log = logging.getLogger(__name__)

_OFFSETS = "__consumer_offsets"
_SECONDS = 5.0
_LOOK_SECONDS = 60.0
_CLOSE_MS = 60_000
"""Difference up to which the worker's own clock is used, because the broker's time is as old as the last commit."""


def broker_time(admin: AdminClient) -> int:
    """Return the broker's time (ms) at the last commit to any consumer group; -1 if unknown."""
    try:
        known = admin.list_topics(_OFFSETS, _SECONDS).topics[_OFFSETS].partitions
        latest = OffsetSpec.max_timestamp()
        asked = {TopicPartition(_OFFSETS, number): latest for number in known}
        answers = admin.list_offsets(asked, request_timeout=_SECONDS) if asked else {}
    except (KafkaException, KeyError) as error:
        log.debug("the broker's time is not known: %s", error)
        return -1
    # The largest, because partitions of groups that no longer commit have old times.
    return max((_timestamp(answer) for answer in answers.values()), default=-1)


def _timestamp(answer: Future[ListOffsetsResultInfo]) -> int:
    try:
        return int(answer.result(_SECONDS).timestamp)
    except (KafkaException, TimeoutError):  # a partition without a leader, or a right that is missing
        return -1


class BrokerClock:
    """The wall clock of a worker: set by the broker's clock, and advanced by a clock that can't be set.

    Args:
        ask: returns the broker's time in ms; -1: it is unknown, and the worker's own clock is used.
        monotonic: must include the time for which the machine was suspended. Otherwise records of the time after it
            would be too far in the future, until the next look at the broker's time.
    """

    def __init__(
        self,
        ask: Callable[[], int],
        wall: Callable[[], int] = now_ms,
        monotonic: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._ask = ask
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._ahead_ms: float | None = None
        """The broker's time less that of the clock that can't be set."""
        self._looked_at = float("-inf")
        self._is_warned = False

    def now_ms(self) -> int:
        """Return the time in ms."""
        # Read once, because another thread may replace it between the test and the sum.
        ahead = self._ahead_ms
        return self._wall() if ahead is None else int(ahead + self._monotonic() * 1_000)

    def look(self) -> None:
        """Ask the broker for its time, at most once a minute; called after a commit, so that the answer is recent."""
        with self._lock:
            if self._monotonic() - self._looked_at < _LOOK_SECONDS:
                return
            broker_ms = self._ask()
            self._looked_at = now = self._monotonic()
            if broker_ms < 0:
                return
            own = self._wall()
            off = own - broker_ms
            self._ahead_ms = (own if abs(off) <= _CLOSE_MS else broker_ms) - now * 1_000
            if abs(off) > _CLOSE_MS and not self._is_warned:
                log.warning(
                    "the clock of this worker is %.0f s %s the broker's: the broker's time is "
                    "used for records. Synchronize the clock, for example with NTP",
                    abs(off) / 1_000,
                    "ahead of" if off > 0 else "behind",
                )
            # Reset once the clocks agree, so that a clock that drifts off again is reported again.
            self._is_warned = abs(off) > _CLOSE_MS


_CLOCKS: dict[str, BrokerClock] = {}


def broker_clock(spec: JobSpec) -> BrokerClock:
    """Return this process's clock for a job."""
    clock = _CLOCKS.get(spec.application)
    if clock is None:
        admin = AdminClient(spec.kafka.admin())
        clock = _CLOCKS[spec.application] = BrokerClock(lambda: broker_time(admin))
    return clock


def look_again(application: str) -> None:
    """Update the clock of a job from the broker, if this process has one."""
    clock = _CLOCKS.get(application)
    if clock is not None:
        clock.look()
