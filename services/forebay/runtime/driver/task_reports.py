"""Records the reports of a job's tasks in the job's metrics, health and log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from forebay.http.health import Health
from forebay.runtime.driver.remedies import explain as with_remedy
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.observability.worker_restarts import WorkerRestarts
from forebay.runtime.task.statistics import TaskFigures

log = logging.getLogger(__name__)

_LOG_SECONDS = 2.0
_EXPLAIN_SECONDS = 10.0


class TaskReports:
    """Records the reports of a job's tasks.

    Args:
        explain: returns the reason of a failure with the rights that the job lacks.
    """

    def __init__(self, application: str, metrics: JobMetrics, health: Health, explain: Callable[[str], str]) -> None:
        self._application = application
        self._metrics = metrics
        self._health = health
        self._explain = explain
        self._worker_restarts = WorkerRestarts(application, metrics, health)
        self._logged: dict[str, int] = {}
        self._logged_at = 0.0
        self._trouble = self._explained = ""
        self._explained_at = 0.0
        self.conversions: list[tuple[str, str]] = []
        """Conversions of stores whose declaration changed: task, text."""
        self.restored: list[TaskFigures] = []
        """Reports of the tasks after the lease that restored the state from the changelogs."""

    def observe(self, figures: list[TaskFigures], trouble: str, placed_at: float) -> None:
        """Record what the tasks report while their leases run, or when they end.

        Args:
            trouble: what a group waits for; "" if nothing.
            placed_at: when Spark last began to place the groups, by the monotonic clock.
        """
        reported = self._metrics.observe(figures)
        self._worker_restarts.observe(figures, placed_at)
        if trouble:
            self._report_trouble(trouble)
        elif reported:
            self._trouble = self._explained = ""
            self._health.working()
        for item in reported:
            self.conversions.extend(
                (f"{self._application}-{item.sub_topology}-{item.task}", text) for text in item.conversions
            )
        # A state without rows is restored, too.
        if any(item.restored_rows or item.restore_seconds for item in reported):
            self.restored = figures
        self.log()

    def _report_trouble(self, trouble: str) -> None:
        """Report what the tasks wait for, with the remedy, which may change while the reason stays the same."""
        now = time.monotonic()
        if trouble != self._trouble or now - self._explained_at > _EXPLAIN_SECONDS:
            explained = self._explain(with_remedy(trouble, trouble))
            self._trouble, self._explained_at = trouble, now
            if explained != self._explained:
                self._explained = explained
                log.warning("%s: %s", self._application, explained)
        self._health.failing(self._explained)

    def log(self, seconds: float = _LOG_SECONDS) -> None:
        """Log the work since the last line, unless that was logged less than `seconds` ago."""
        now, totals = time.monotonic(), self._metrics.totals
        if now - self._logged_at < seconds:
            return
        line = as_text(self._logged, totals)
        if line:
            self._logged_at, self._logged = now, dict(totals)
            log.info("%s: %s", self._application, line, extra={"facts": totals})


def as_text(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    """Return a line about the work since `before`, without counts that are zero; "" if there was none."""
    passed = {name: now[name] - before.get(name, 0) for name in now}
    if not any(passed[name] for name in ("commits", "restored_rows")):
        return ""
    names = ("errors", "late", "duplicates", "timers_fired", "restored_rows")
    rest = "".join(f", {passed[name]} {name.replace('_', ' ')}" for name in names if passed[name])
    done = f"{passed['records_in']} in, {passed['records_out']} out, {passed['commits']} commits"
    return f"{done}{rest}, state {now['state_rows']} rows"
