"""Detects workers that were replaced while their query ran, because they failed or were killed.

Spark starts another worker and repeats the task without a report to the driver. Only the statistics of the workers show
it: the tasks of a group are reported by another process than before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from forebay.http.health import Health
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures

log = logging.getLogger(__name__)

Place = tuple[int, int]

_CAUSES = (
    "Possible causes: an error, which the job logs if it persists; lack of memory (see --memory and the container's "
    "limit); no sign of life for a minute; the end of its executor"
)
_PLACING_SECONDS = 60.0
"""How long the workers of the previous leases may still be reported after Spark began to place the groups."""


class WorkerRestarts:
    """Logs and counts replaced workers.

    Args:
        application: id of the job.
        metrics: counts the restarts.
        health: lists the restarts with their reasons.
        monotonic: seconds.
    """

    def __init__(
        self, application: str, metrics: JobMetrics, health: Health, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._application = application
        self._metrics = metrics
        self._health = health
        self._monotonic = monotonic
        self._last: dict[Place, tuple[TaskFigures, float]] = {}
        self._placed: dict[Place, float] = {}
        """When Spark began the latest placement of groups of which a report was seen, by task."""
        self._counted = (0, 0)
        self._count = 0

    def observe(self, reports: Iterable[TaskFigures], placed_at: float) -> None:
        """Compare the tasks' reports with the previous ones.

        Args:
            placed_at: when Spark last began to place the groups, by the monotonic clock. The first workers after that
                do not count as restarts.
        """
        now = self._monotonic()
        for report in reports:
            place = report.sub_topology, report.task
            before = self._last.get(place)
            # The same report again, because the control group holds the last one until the worker commits another.
            if before is not None and report.at <= before[0].at and report.worker == before[0].worker:
                continue
            self._last[place] = report, now
            if before is not None and before[0].worker == report.worker:
                continue
            is_placed = self._placed.get(place) == placed_at or now - placed_at > _PLACING_SECONDS
            self._placed[place] = placed_at
            if before is not None and is_placed:
                self._count_move(before[0], report)

    def _count_move(self, before: TaskFigures, now: TaskFigures) -> None:
        """Count one restart for all tasks that moved together."""
        both = before.worker, now.worker
        # All tasks of a group move together. That is one restart.
        if both == self._counted:
            return
        self._counted = both
        self._count += 1
        self._metrics.worker_restarted()
        reason = (
            f"the worker process {before.worker} has ended, and process {now.worker} has its tasks, such as "
            f"{now.sub_topology}-{now.task} ({self._count} times since this driver started). {_CAUSES}"
        )
        self._health.note_restart("worker", reason)
        log.warning("%s: %s", self._application, reason)
