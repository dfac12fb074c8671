"""Samples of a job's metrics, and the rates between two samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from forebay.demo.figures import Figures, read_figures
from forebay.demo.samples import Samples
from forebay.runtime.observability.latencies import LAST_MINUTE

RATE_SECONDS = 10.0

Count = tuple[str, str]
"""A counter: its name, and the topic, kind, store or edge ("sub-topology from to") that it counts."""

_COUNTERS: Mapping[str, tuple[str, ...]] = {
    "in": ("forebay_records_in_total", "topic"),
    "handed": ("forebay_repartition_records_in_total", "topic"),
    "passed": ("forebay_edge_records_total", "subtopology", "from_node", "to_node"),
    "out": ("forebay_records_out_total", "kind"),
    "sent": ("forebay_records_produced_total", "topic"),
    "puts": ("forebay_store_puts_total", "store"),
    "gets": ("forebay_store_gets_total", "store"),
}
_OF_TASKS: Mapping[str, str] = {
    "rows": "forebay_state_rows",
    "bytes": "forebay_state_bytes",
    "changelog_lag_rows": "forebay_rows_since_snapshot",
    "restore_rows_per_s": "forebay_restore_rows_per_second",
    "stream_time_s": "forebay_stream_time_seconds",
}


@dataclass(frozen=True, slots=True)
class StoreLevel:
    """Rows and bytes of a store, summed over all tasks."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A sample of a job's metrics.

    Args:
        at_s: seconds, monotonic.
        counts: counters since the job's start.
        stores: levels by store.
        tasks: gauges of each task by sub-topology and number (names: `_OF_TASKS`).
        lags: pending records, by input topic.
        latencies_ms: quantiles of the time from a record's append to its commit in the last minute; empty if there
            were no records.
    """

    at_s: float
    figures: Figures
    counts: Mapping[Count, float] = field(default_factory=dict)
    stores: Mapping[str, StoreLevel] = field(default_factory=dict)
    tasks: Mapping[tuple[int, int], Mapping[str, float]] = field(default_factory=dict)
    lags: Mapping[str, int] = field(default_factory=dict)
    latencies_ms: Mapping[float, float] = field(default_factory=dict)


def moment_of(page: str, service: str, at_s: float) -> Moment:
    """Return the sample of a job's /metrics page. Raises ValueError if it is not such a page."""
    samples = Samples(page)
    counts: dict[Count, float] = {}
    for kind, (name, *of) in _COUNTERS.items():
        for labels, value in samples.with_labels(name, service=service):
            place = kind, " ".join(labels[label] for label in of)
            counts[place] = counts.get(place, 0.0) + value
    return Moment(
        at_s,
        read_figures(samples, service),
        counts,
        _stores(samples, service),
        _tasks(samples, service),
        {topic: int(value) for topic, value in _sum_by(samples, "forebay_lag_records", "topic", service).items()},
        {
            float(labels["quantile"]): value * 1000
            for labels, value in samples.with_labels(LAST_MINUTE, service=service)
        },
    )


def _sum_by(samples: Samples, name: str, label: str, service: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for labels, value in samples.with_labels(name, service=service):
        sums[labels[label]] = sums.get(labels[label], 0.0) + value
    return sums


def _stores(samples: Samples, service: str) -> dict[str, StoreLevel]:
    rows = _sum_by(samples, "forebay_store_rows", "store", service)
    sizes = _sum_by(samples, "forebay_store_bytes", "store", service)
    return {name: StoreLevel(int(held), int(sizes.get(name, 0))) for name, held in rows.items()}


def _tasks(samples: Samples, service: str) -> dict[tuple[int, int], dict[str, float]]:
    tasks: dict[tuple[int, int], dict[str, float]] = {}
    for shown, name in _OF_TASKS.items():
        for labels, value in samples.with_labels(name, service=service):
            tasks.setdefault((int(labels["subtopology"]), int(labels["task"])), {})[shown] = value
    return dict(sorted(tasks.items()))


class Recent:
    """The latest samples, which are dropped when the job restarts."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque()

    @property
    def latest(self) -> Moment | None:
        """The latest sample."""
        return self._moments[-1] if self._moments else None

    def add(self, moment: Moment) -> None:
        """Add a sample."""
        before = self.latest
        # Counters begin at 0 in a new process. A rate across a restart would be negative.
        if before is not None and moment.figures.records_in < before.figures.records_in:
            self._moments.clear()
        self._moments.append(moment)
        # Keep one sample that is older than the window, so that the rates cover all of it.
        while len(self._moments) > 1 and self._moments[1].at_s <= moment.at_s - RATE_SECONDS:
            self._moments.popleft()

    def clear(self) -> None:
        """Discard all samples, because the next ones belong to another run."""
        self._moments.clear()

    def rates(self) -> dict[Count, float]:
        """Return the increase of each counter per second, over the last ten seconds; {} with fewer than two samples."""
        if len(self._moments) < 2:
            return {}
        now = self._moments[-1]
        then = next(moment for moment in self._moments if moment.at_s >= now.at_s - RATE_SECONDS)
        if then is now:
            then = self._moments[-2]
        seconds = max(now.at_s - then.at_s, 0.001)
        return {place: max(0.0, value - then.counts.get(place, 0.0)) / seconds for place, value in now.counts.items()}
