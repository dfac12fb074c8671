"""Load of servers, with quiet nights, busy days, and peaks (topic server_metrics)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from random import Random

from forebay.producing.base import FIXED_START_MS, Event, Options, Source
from producers.draws import MASK, SIZE, weighted_table
from windowed_metrics.model import Alerting, ServerMetric

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

_QUIET, _HIGH, _CRITICAL = 0.0, 0.9, 1.0
_PEAKS = weighted_table([(_QUIET, 5.0), (_HIGH, 3.5), (_CRITICAL, 1.5)])
_PEAK_SHARE = 0.25
_SHORTEST_CYCLE_MS, _LONGEST_CYCLE_MS = HOUR_MS // 2, 3 * HOUR_MS // 2
_PLACES = weighted_table(
    [(("eu-west", 0), 4.0), (("eu-north", 1), 2.0), (("us-east", -5), 5.0), (("ap-south", 5), 3.0)]
)
_USES = weighted_table([("production", 8.0), ("staging", 1.5), ("development", 0.5)])
_ROLES = weighted_table([("web", 5.0), ("api", 4.0), ("database", 2.0), ("cache", 1.5), ("queue", 1.0), (None, 0.3)])


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its value without load (`idle`), at full load (`full`), and its spread (`noise`)."""

    name: str
    unit: str
    idle: float
    full: float
    noise: float
    alerting: Alerting


METRICS = (
    Metric("cpu_usage", "percent", 4.0, 98.0, 2.0, Alerting(True, 80.0, 95.0)),
    Metric("memory_usage", "percent", 30.0, 96.0, 0.6, Alerting(True, 85.0, 94.0)),
    Metric("disk_usage", "percent", 20.0, 97.0, 0.1, Alerting(True, 80.0, 92.0)),
    Metric("response_time", "ms", 15.0, 900.0, 12.0, Alerting(True, 500.0, 800.0)),
    Metric("request_rate", "requests/s", 2.0, 1500.0, 25.0, Alerting(False)),
)
_DISK, _RESPONSE_TIME = 2, 3
_OFF = tuple(Alerting(False, metric.alerting.threshold_high, metric.alerting.threshold_critical) for metric in METRICS)


class _Server:
    """The fixed properties of a server, and the times of its peaks."""

    __slots__ = ("alerting", "cycle_ms", "datacenter", "disk", "environment", "name", "offset_ms", "seed", "service")

    def __init__(self, number: int, random: Random) -> None:
        self.name = f"server_{number:06d}"
        self.datacenter, hours = _PLACES[random.getrandbits(12)]
        self.environment = _USES[random.getrandbits(12)]
        self.service = _ROLES[random.getrandbits(12)]
        self.alerting = tuple(metric.alerting for metric in METRICS) if self.environment == "production" else _OFF
        self.offset_ms = hours * HOUR_MS
        self.cycle_ms = random.randrange(_SHORTEST_CYCLE_MS, _LONGEST_CYCLE_MS)
        self.seed = random.getrandbits(32)
        self.disk = random.random() ** 2

    def load(self, timestamp: int) -> float:
        """Return the load at a time (ms), from 0 to 1: that of the daily curve, or of a peak above it."""
        day = 0.35 - 0.25 * math.cos(2 * math.pi * ((timestamp + self.offset_ms) % DAY_MS) / DAY_MS)
        cycle, at = divmod(timestamp + self.seed, self.cycle_ms)
        if at > self.cycle_ms * _PEAK_SHARE:
            return day
        return max(day, _PEAKS[(self.seed ^ cycle * 2_654_435_761) >> 7 & MASK])


class ServerMetricsGenerator:
    """The agents of the servers report in turn, each time all of their metrics.

    The daily curve is low at night (in the datacenter's own time) and stays below every threshold. Each server has a
    peak every 30 to 90 minutes, for a quarter of that: half of them are harmless, some pass the high threshold, fewer
    the critical one, for long enough to lift the average of a window of 5 minutes. Disks fill slowly.
    """

    def __init__(self, options: Options) -> None:
        start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
        self._random = random = Random(f"server_metrics {options.seed}")
        self._servers = [_Server(number, random) for number in range(options.keys)]
        random.shuffle(self._servers)
        self._noise = [random.gauss(0, 1) for _ in range(SIZE)]
        self._run = hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]
        self._start_ms = start_ms
        self._number = 0
        self._load = 0.0

    def next_event(self, timestamp: int) -> Event[ServerMetric]:
        """Return the next measurement of the current server."""
        turn, place = divmod(self._number, len(METRICS))
        self._number += 1
        server = self._servers[turn % len(self._servers)]
        if place == 0:
            self._load = server.load(timestamp)
        metric = METRICS[place]
        value = metric.idle + (metric.full - metric.idle) * self._share(place, server, timestamp)
        value = max(0.0, value + metric.noise * self._noise[self._random.getrandbits(12)])
        if metric.unit == "percent" and value > 100.0:
            value = 100.0
        event = ServerMetric(
            metric_id=f"{self._run}-{self._number:08x}",
            metric_name=metric.name,
            value=round(value, 3),
            unit=metric.unit,
            timestamp=timestamp,
            datacenter=server.datacenter,
            environment=server.environment,
            service=server.service,
            alerting=server.alerting[place],
        )
        return Event(server.name, event, timestamp)

    def _share(self, place: int, server: _Server, timestamp: int) -> float:
        """Return the level of a metric between idle (0) and full (1)."""
        if place == _DISK:
            return min(1.0, server.disk + 0.02 * (timestamp - self._start_ms) / DAY_MS)
        return self._load**3 if place == _RESPONSE_TIME else self._load


SOURCE = Source(
    "server_metrics", "windowed-metrics", "ServerMetric", ServerMetric, ServerMetricsGenerator, "metric_name"
)
