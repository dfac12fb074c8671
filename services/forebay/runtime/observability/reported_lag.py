"""Lag of input partitions, as last reported by the tasks that read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from forebay.runtime.task.statistics import TaskFigures

FRESH_SECONDS = 5.0
"""Age up to which a report is used. Tasks report every second, so the worker of an older report may be dead."""


@dataclass(frozen=True, slots=True)
class _Report:
    at: int
    worker: int
    heard: float
    lag: dict[tuple[str, int], int] | None


class ReportedLag:
    """The lag that each task last reported.

    Args:
        monotonic: seconds. Workers' clocks may be wrong, so the age of a report counts from its arrival.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._reports: dict[tuple[int, int], _Report] = {}

    def observe(self, figures: Iterable[TaskFigures]) -> None:
        """Record reports. A repeated report keeps its time of arrival."""
        now = self._monotonic()
        for item in figures:
            before = self._reports.get((item.sub_topology, item.task))
            if before is None or (before.at, before.worker) != (item.at, item.worker):
                lag = None if item.lag is None else _by_partition(item.lag)
                self._reports[item.sub_topology, item.task] = _Report(item.at, item.worker, now, lag)

    def of(self, topic: str, partition: int, tasks: int) -> int | None:
        """Return the lag of a partition; None unless all tasks with its number, of `tasks`, have reported recently.

        All tasks read a partition of a global table. The largest lag counts.
        """
        now, number = self._monotonic(), partition % tasks
        reports = [report for (_, task), report in self._reports.items() if task == number]
        if not reports or any(report.lag is None or now - report.heard > FRESH_SECONDS for report in reports):
            return None
        place = topic, partition
        return max((report.lag.get(place, 0) for report in self._reports.values() if report.lag), default=0)


def _by_partition(lag: dict[str, list[int]]) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): records
        for topic, pairs in lag.items()
        for partition, records in zip(pairs[::2], pairs[1::2], strict=True)
    }
