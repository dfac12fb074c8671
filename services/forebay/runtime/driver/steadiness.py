"""Detects that a job's workers run without interruption. Leases last for weeks, so their ends show no progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from forebay.runtime.task.statistics import TaskFigures


class Steadiness:
    """Watches the tasks' reports.

    Args:
        seconds: how long all tasks must have run in the same processes.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._begun = monotonic()
        self._before: dict[tuple[int, int], TaskFigures] = {}

    def observe(self, reports: Iterable[TaskFigures], trouble: str) -> bool:
        """Return whether an interval has passed in which the same processes ran all tasks, and no group waits.

        Args:
            trouble: what a group waits for, or "".
        """
        now = self._monotonic()
        if now - self._begun < self._seconds:
            return False
        current = {(report.sub_topology, report.task): report for report in reports}
        before, self._before, self._begun = self._before, current, now
        return (
            bool(current)
            and not trouble
            and before.keys() == current.keys()
            and all(
                # The process id shows that a worker was replaced, and the time that it only repeats its last report.
                report.worker == before[place].worker and report.at > before[place].at
                for place, report in current.items()
            )
        )
