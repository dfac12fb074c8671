"""End-to-end latencies for Prometheus: all of them as a histogram, quantiles of the last minute as gauges."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from forebay.runtime.histogram import Histogram
from forebay.runtime.task.figures import LATENCY_MS, TaskFigures

NAME = "forebay_end_to_end_latency_seconds"
LAST_MINUTE = "forebay_end_to_end_latency_last_minute_seconds"
QUANTILES = (0.5, 0.95, 0.99)
_WINDOW_SECONDS = 60.0
_STEP_SECONDS = 1.0
_BOUNDS = (*(ms / 1000 for ms in LATENCY_MS), math.inf)


class Latencies(Collector):
    """Gathers the counts that tasks tell.

    Args:
        service: label of both metrics.
        clock: monotonic seconds.
    """

    def __init__(self, service: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._clock = clock
        self._counts = [0] * len(_BOUNDS)
        self._sum = 0.0
        self._moments: deque[tuple[float, Histogram]] = deque([(clock(), self._now())])

    def add(self, passed: TaskFigures) -> None:
        """Take in what passed between two tellings of a task."""
        self._forget()
        now = self._clock()
        if now - self._moments[-1][0] >= _STEP_SECONDS:
            self._moments.append((now, self._now()))
        self._counts = [a + b for a, b in zip(self._counts, passed.latencies, strict=True)]
        self._sum += passed.latency_ms / 1000

    def last_minute(self) -> Histogram:
        """Return the latencies of the last minute."""
        self._forget()
        return self._now().since(self._moments[0][1])

    def collect(self) -> Iterator[Metric]:
        """Return the metrics as they stand; without a latency in the last minute there is no quantile."""
        whole = HistogramMetricFamily(NAME, "From a record's timestamp to its output's commit", labels=["service"])
        found = self._now()
        bounds = ["+Inf" if math.isinf(bound) else str(bound) for bound in found.bounds]
        whole.add_metric([self._service], list(zip(bounds, found.counts, strict=True)), found.sum)
        yield whole
        lately = GaugeMetricFamily(LAST_MINUTE, "The same over the last minute", labels=["service", "quantile"])
        minute = self.last_minute()
        for share in QUANTILES:
            value = minute.quantile(share)
            if value is not None:
                lately.add_metric([self._service, str(share)], value)
        yield lately

    def _now(self) -> Histogram:
        return Histogram(_BOUNDS, tuple(map(float, accumulate(self._counts))), self._sum)

    def _forget(self) -> None:
        """Drop what is older than the window, but for the moment at its beginning."""
        first = self._clock() - _WINDOW_SECONDS
        while len(self._moments) > 1 and self._moments[1][0] <= first:
            self._moments.popleft()
        if self._moments[-1][0] <= first:
            self._moments[-1] = (first, self._now())
