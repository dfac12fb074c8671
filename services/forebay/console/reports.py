"""Reads the statistics that a job's tasks report to their driver in the offsets of the control group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import TopicPartition
from prometheus_client import generate_latest

from forebay.console.groups import GroupOffsets
from forebay.kafka.identities import control_group
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The lease of a task's group: the number of Spark's batch, and when the driver planned it (ms since the epoch)."""

    number: int
    planned_ms: int


@dataclass(frozen=True, slots=True)
class Reports:
    """The latest reports of a job's tasks.

    Args:
        trouble: the failure after which a group retries; "" for none.
        leases: leases by sub-topology and task; empty for releases that do not report them.
    """

    figures: tuple[TaskFigures, ...] = ()
    trouble: str = ""
    leases: Mapping[tuple[int, int], HeldLease] = field(default_factory=dict)

    @property
    def told_at_ms(self) -> int:
        """The time of the latest report, ms since the epoch; 0: never."""
        return max((item.at for item in self.figures), default=0)

    @property
    def opened_ms(self) -> int:
        """The time at which the first group was opened, ms since the epoch; 0: never."""
        return min((item.opened for item in self.figures), default=0)


class ReportReader:
    """Reads tasks' reports."""

    def __init__(self, groups: GroupOffsets) -> None:
        self._groups = groups

    def read(self, application: str, sub_topologies: int) -> Reports:
        """Return a job's reports. Raises Unavailable."""
        topics = [internal_topic(application, sub_topology) for sub_topology in range(sub_topologies)]
        return reports_of(self._groups.read(control_group(application), topics))


class _Report(NamedTuple):
    figures: TaskFigures
    lease: HeldLease | None
    run: str
    trouble: str


def reports_of(places: list[TopicPartition]) -> Reports:
    """Return the reports in the offset metadata of a control group.

    Reports of earlier runs are left out: if a job no longer has a task, the last report of the task remains.
    """
    reports = [report for place in places if place.metadata for report in _decode(place.metadata)]
    newest = max(reports, key=lambda report: report.lease.planned_ms if report.lease else -1, default=None)
    current = [report for report in reports if newest is not None and report.run == newest.run]
    return Reports(
        tuple(sorted((report.figures for report in current), key=lambda item: (item.sub_topology, item.task))),
        next((report.trouble for report in current if report.trouble), ""),
        {(report.figures.sub_topology, report.figures.task): report.lease for report in current if report.lease},
    )


def _decode(metadata: str) -> Iterator[_Report]:
    """Yield the report, or nothing if it is one of another release in another format."""
    with suppress(ValueError, KeyError, TypeError):
        report = json.loads(metadata)
        lease = HeldLease(report["lease"]["number"], report["lease"]["planned"]) if "lease" in report else None
        figures = TaskFigures.from_json(report["figures"])
        yield _Report(figures, lease, report.get("run", ""), report.get("trouble", ""))


class ReportedMetrics:
    """Metrics of a job without a /metrics page, computed from its tasks' reports like those of its driver."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._metrics: JobMetrics | None = None
        self._opened = 0
        self._topics: set[str] = set()

    def page(self, reports: Reports) -> str:
        """Add reports. Return the /metrics page, whose counters begin at the first reports."""
        # A restarted job counts from 0 again, so its metrics begin again, too.
        if self._metrics is None or reports.opened_ms > self._opened:
            self._metrics, self._opened = JobMetrics(self._service), reports.opened_ms
        self._metrics.observe(reports.figures)
        lag = lag_by_topic(reports.figures)
        if lag is not None:
            # Reports leave out partitions without lag, so there is only one series per topic here.
            self._topics |= lag.keys()
            self._metrics.observe_lag({(topic, 0): lag.get(topic, 0) for topic in self._topics})
        return generate_latest(self._metrics.registry).decode()


def lag_by_topic(figures: Sequence[TaskFigures]) -> dict[str, int] | None:
    """Return the reported lag of inputs by topic, including 0; None if a task does not know its lag."""
    lag: dict[tuple[str, int], int] = {}
    for item in figures:
        if item.lag is None:
            return None
        for topic, pairs in item.lag.items():
            for partition, records in zip(pairs[::2], pairs[1::2], strict=True):
                # Every task reads all partitions of a global table.
                lag[topic, partition] = max(records, lag.get((topic, partition), 0))
    totals = dict.fromkeys((topic for item in figures if item.sub_topology == 0 for topic in item.records_in), 0)
    for (topic, _), records in lag.items():
        totals[topic] = totals.get(topic, 0) + records
    return totals
