"""Detects whether a client sent a request twice, before its next transaction begins."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Producer

from forebay.kafka.librdkafka_log import unmask

log = logging.getLogger(__name__)

_BACKOFF_MS = 250
_INTERVAL_MS = 1_000
_SHORTEST_INTERVAL_MS = 250
_INTERVAL_MS_PER_PARTITION = 4
"""A report takes about 9 µs of CPU for each partition, so that reports take at most 0.25 % of a core."""
_LIBRDKAFKA_BACKOFF_MS = 100
_LIBRDKAFKA_MAX_MS = 1_000
_LEAST_JITTER = 0.8
_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 1.0
"""How much later than their interval statistics may arrive."""


class RetryWatch:
    """Decides whether the current producer repeated a request during a call.

    librdkafka reports retries only in its periodic statistics, which come too late for most commits. Therefore the
    duration of the call is checked first. Before librdkafka sends a request again, it waits for `retry.backoff.ms`
    (less 20 % of jitter; `rd_kafka_broker_buf_retry`). A shorter call has repeated nothing, and needs no statistics.
    After a longer call, the watch waits for statistics that were taken after the call, and compares their counts of
    retries (`txretries`) with those from before it. Without such statistics, it assumes a repetition.

    Until `configure` is called, the watch assumes librdkafka's default backoff and no statistics.

    Args:
        partitions: approximate number of partitions to which the producers write. Statistics of few partitions are
            cheap, so they are reported more often, and a slow commit waits less.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, partitions: int = 0) -> None:
        self._monotonic = monotonic
        self._default_ms = min(_INTERVAL_MS, max(_SHORTEST_INTERVAL_MS, _INTERVAL_MS_PER_PARTITION * partitions))
        self._least_seconds = _least_seconds({})
        self._interval_seconds = 0.0
        self._statistics = ""
        self._created_at = 0.0
        self._logged: set[str] = set()

    def configure(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of a producer that is created right after this call, and watched from then on.

        The backoff is longer than librdkafka's default, so that few commits are slow enough to be checked. Statistics
        are reported at least once a second. Options for a shorter backoff, or for statistics less often or never, are
        ignored, because almost every commit would have to wait or to open its group again.
        """
        config = {**config, **self._required_options(config)}
        self._least_seconds = _least_seconds(config)
        self._interval_seconds = float(config.get("statistics.interval.ms", 0)) / 1_000
        self._statistics = ""
        created_at = self._created_at = self._monotonic()
        report = config.get("stats_cb")

        def on_statistics(text: str) -> None:
            # Statistics of a producer that was replaced do not count for the current one.
            if created_at == self._created_at:
                self._statistics = text
            if report is not None:
                report(text)

        return {**config, "stats_cb": unmask(on_statistics)}

    def _required_options(self, config: Mapping[str, Any]) -> dict[str, int]:
        """Return the options that the watch requires, with replacements for unsuitable values."""
        backoff = int(config.get("retry.backoff.ms", _BACKOFF_MS))
        longest = int(config.get("retry.backoff.max.ms", _LIBRDKAFKA_MAX_MS))
        interval = int(config.get("statistics.interval.ms", self._default_ms))
        required = {
            "retry.backoff.ms": max(backoff, _BACKOFF_MS),
            "retry.backoff.max.ms": max(longest, _BACKOFF_MS),
            "statistics.interval.ms": interval if 0 < interval <= _INTERVAL_MS else _INTERVAL_MS,
        }
        for name, value in required.items():
            if name in config and int(config[name]) != value and name not in self._logged:
                self._logged.add(name)
                log.warning(
                    "producers of task groups ignore the client option %s=%s and use %d, "
                    "because commits would be slower with it: remove the option "
                    "(docs/production.md)",
                    name,
                    config[name],
                    value,
                )
        return required

    def has_repeated(self, producer: Producer, call: Callable[[], object]) -> bool:
        """Run `call`; return whether the producer may have sent a request twice during it. Raises errors of `call`."""
        before, begun = self._statistics, self._monotonic()
        call()
        ended = self._monotonic()
        # The common case: a commit lasts a few ms, and no statistics are needed.
        if ended - begun < self._least_seconds:
            return False
        after = self._statistics_after(ended, producer)
        retries = _retries(before)
        # All brokers count, because the coordinator may have moved, and its requests with it.
        return not after or any(count > retries.get(broker, 0) for broker, count in _retries(after).items())

    def _statistics_after(self, moment: float, producer: Producer) -> str:
        """Return statistics that were taken after a moment; "" if there are none."""
        deadline = moment + self._interval_seconds + _PATIENCE_SECONDS if self._interval_seconds else moment
        seen = ""
        while self._monotonic() < deadline:
            if self._statistics != seen:
                seen = self._statistics
                # The client was created after `_created_at`, so its age gives the earliest time of its statistics.
                if self._created_at + json.loads(seen).get("age", 0) / 1_000_000 >= moment:
                    return seen
            producer.poll(_POLL_SECONDS)
        return ""


def _least_seconds(config: Mapping[str, Any]) -> float:
    """Return the shortest time after which librdkafka sends a request again."""
    backoff = float(config.get("retry.backoff.ms", _LIBRDKAFKA_BACKOFF_MS))
    return min(_LEAST_JITTER * backoff, float(config.get("retry.backoff.max.ms", _LIBRDKAFKA_MAX_MS))) / 1_000


def _retries(statistics: str) -> dict[str, int]:
    """Return the number of requests that were sent again, by broker."""
    brokers = json.loads(statistics)["brokers"] if statistics else {}
    return {name: int(broker.get("txretries", 0)) for name, broker in brokers.items()}
