"""A service's processes under watch, and whose turn it is to start."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.view import ServiceView
from forebay.demo.watched import WatchedService
from forebay.runtime.health import Verdict

READY_SECONDS = 300.0
"""How long a job may take to its first commit."""

TURN_SECONDS = 60.0
"""How long a job that starts keeps others waiting."""

WAITS = Verdict(False, "waits for its turn to start")


class Lane:
    """One service: its job, the producers of its input, and what is seen of it.

    Args:
        producers: of its input topics, those of an earlier lane left out.
    """

    def __init__(self, job: Child, producers: Sequence[Child], watched: WatchedService) -> None:
        self.job = job
        self.producers = tuple(producers)
        self.watched = watched
        self._started_at: float | None = None

    @property
    def is_started(self) -> bool:
        """Whether its processes were started."""
        return self._started_at is not None

    @property
    def is_ready(self) -> bool:
        """Whether its job has committed anything."""
        return self.watched.ready

    @property
    def children(self) -> tuple[Child, ...]:
        """The processes that run."""
        return (self.job, *self.producers) if self.is_started else ()

    def start(self, now: float) -> None:
        """Start job and producers. Raises DemoError."""
        self._started_at = now
        for child in self.children:
            child.start()

    def is_busy_starting(self, now: float) -> bool:
        """Tell whether another start should wait for this one."""
        return self._started_at is not None and not self.is_ready and now - self._started_at < TURN_SECONDS

    def require_progress(self, now: float) -> None:
        """Raise DemoError, with the log's last lines, if a process has ended or the job takes too long to start."""
        for child in self.children:
            child.require_alive()
        if self._started_at is not None and not self.is_ready and now - self._started_at > READY_SECONDS:
            reason = f"the {self.job.name} has no commit after {READY_SECONDS:.0f} s: see {self.job.log}."
            raise DemoError(reason, self.job.log_tail())

    def look(self) -> ServiceView:
        """Return how the service is now."""
        view = self.watched.look()
        return view if self.is_started else dataclasses.replace(view, state=WAITS)


def starts_at_once() -> int:
    """Return how many jobs may start together: each keeps two cores busy while it does."""
    return max(1, (os.cpu_count() or 1) // 2)


def next_to_start(lanes: Sequence[Lane], now: float, at_once: int) -> list[Lane]:
    """Return the lanes whose turn it is: in order, never more than `at_once` jobs on their way to the first commit."""
    free = at_once - sum(lane.is_busy_starting(now) for lane in lanes)
    return [lane for lane in lanes if not lane.is_started][: max(0, free)]
