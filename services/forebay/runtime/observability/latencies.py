"""Latencies and event-time delays for Prometheus: a histogram, and quantiles of the last minute as gauges."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from forebay.runtime.observability.histogram import Histogram
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures

NAME = "forebay_end_to_end_latency_seconds"
LAST_MINUTE = "forebay_end_to_end_latency_last_minute_seconds"
DELAY_NAME = "forebay_event_time_delay_seconds"
DELAY_LAST_MINUTE = "forebay_event_time_delay_last_minute_seconds"
QUANTILES = (0.5, 0.95, 0.99)
_WINDOW_SECONDS = 60.0
_STEP_SECONDS = 1.0
_BOUNDS = (*(ms / 1000 for ms in LATENCY_MS), math.inf)


class _Window:
    """All durations that were counted, and those of the last minute."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts = [0] * len(_BOUNDS)
        self._sum = 0.0
        self._moments: deque[tuple[float, Histogram]] = deque([(clock(), self.all())])

    def add(self, counts: Sequence[int], total_ms: int) -> None:
        self._forget()
        now = self._clock()
        if now - self._moments[-1][0] >= _STEP_SECONDS:
            self._moments.append((now, self.all()))
        self._counts = [a + b for a, b in zip(self._counts, counts, strict=True)]
        self._sum += total_ms / 1000

    def last_minute(self) -> Histogram:
        self._forget()
        return self.all().since(self._moments[0][1])

    def all(self) -> Histogram:
        return Histogram(_BOUNDS, tuple(map(float, accumulate(self._counts))), self._sum)

    def _forget(self) -> None:
        """Drop moments older than the window, except the one at its beginning."""
        first = self._clock() - _WINDOW_SECONDS
        while len(self._moments) > 1 and self._moments[1][0] <= first:
            self._moments.popleft()
        if self._moments[-1][0] <= first:
            self._moments[-1] = (first, self.all())


class Latencies(Collector):
    """Collects the latencies that tasks report: from the append of a record to the commit that includes it.

    A record passes the sub-topologies of a job one after the other, so the job's latency is the sum of their latencies.
    Its quantiles are estimated as the sum of the sub-topologies' quantiles.

    Args:
        service: label of both metrics.
        clock: monotonic seconds.
    """

    name, last_minute_name = NAME, LAST_MINUTE
    text = "From the append of a record to the input to the commit that includes it, by sub-topology"

    def __init__(self, service: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._all = _Window(clock)
        self._clock = clock
        self._by_sub_topology: dict[int, _Window] = {}

    def add(self, passed: TaskFigures) -> None:
        """Add the increase between two reports of a task."""
        self.count(passed.sub_topology, passed.latencies, passed.latency_ms)

    def count(self, sub_topology: int, counts: Sequence[int], total_ms: int) -> None:
        """Count durations of a sub-topology, in the buckets of LATENCY_MS."""
        if sub_topology not in self._by_sub_topology:
            self._by_sub_topology[sub_topology] = _Window(self._clock)
        for window in (self._all, self._by_sub_topology[sub_topology]):
            window.add(counts, total_ms)

    def last_minute(self) -> Histogram:
        """Return the latencies of the last minute, of all sub-topologies."""
        return self._all.last_minute()

    def quantile(self, share: float) -> float | None:
        """Return the estimate (s) of a quantile of the last minute; None without latencies."""
        values = [window.last_minute().quantile(share) for window in self._by_sub_topology.values()]
        counted = [value for value in values if value is not None]
        return sum(counted) if counted else None

    def collect(self) -> Iterator[Metric]:
        """Return the present metrics, without quantiles if there was no latency in the last minute."""
        whole = HistogramMetricFamily(self.name, self.text, labels=["service"])
        total = self._all.all()
        bounds = ["+Inf" if math.isinf(bound) else str(bound) for bound in total.bounds]
        whole.add_metric([self._service], list(zip(bounds, total.counts, strict=True)), total.sum)
        yield whole
        lately = GaugeMetricFamily(
            self.last_minute_name, "The same over the last minute", labels=["service", "quantile"]
        )
        for share in QUANTILES:
            value = self.quantile(share)
            if value is not None:
                lately.add_metric([self._service, str(share)], value)
        yield lately


class EventTimeDelays(Latencies):
    """Collects event-time delays: from the timestamp of an output to its commit.

    They include the time until the producer sent the record, so they may be hours without a fault of the job.
    """

    name, last_minute_name = DELAY_NAME, DELAY_LAST_MINUTE
    text = "From a record's timestamp to its output's commit"

    def add(self, passed: TaskFigures) -> None:
        """Add the increase between two reports of a task. Delays count from the event, so they are not added up."""
        self.count(0, passed.delays, passed.delay_ms)
