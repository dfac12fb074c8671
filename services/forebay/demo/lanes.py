"""Starts the jobs, and the producers of each service once its job reads, so that starts can use all cores."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.service_status import WatchedService
from forebay.demo.view import ServiceView

READY_SECONDS = 300.0
"""Maximum time until the next service has its first commit, in seconds."""

PATIENCE_SECONDS = 75.0
"""Maximum time that producers wait for other services' jobs to read, in seconds."""


class Lane:
    """A service of the demo: its producers, and the state of its job.

    Args:
        producers: producers of its input topics, except those of an earlier lane.
    """

    def __init__(self, producers: Sequence[Child], watched: WatchedService) -> None:
        self.producers = tuple(producers)
        self.watched = watched
        self.is_started = False
        self.is_ready = False

    @property
    def children(self) -> tuple[Child, ...]:
        """The running processes."""
        return self.producers if self.is_started else ()

    @property
    def has_turn(self) -> bool:
        """Whether its producers should start, because its job reads."""
        return self.watched.ready and not self.is_started

    def start(self) -> None:
        """Start the producers. Raises DemoError."""
        self.is_started = True
        for child in self.producers:
            child.start()

    def look(self) -> ServiceView:
        """Return the current state of the service, which is ready from its first commit on."""
        view = self.watched.look()
        self.is_ready = self.is_ready or view.figures is not None
        return view


class Lanes:
    """All services of a demo, and the process of their jobs."""

    def __init__(self, job: Child, lanes: Sequence[Lane]) -> None:
        self.job = job
        self.lanes = tuple(lanes)
        self._ready = 0
        self._began_at = 0.0
        self._progress_at: float | None = None

    @property
    def are_ready(self) -> bool:
        """Whether every job has committed."""
        return self._ready == len(self.lanes)

    @property
    def producers(self) -> list[Child]:
        """The running producers."""
        return [child for lane in self.lanes for child in lane.children]

    def next_to_start(self, now: float) -> list[Child]:
        """Start the next processes at `now` (monotonic seconds): first the jobs, then the producers of those that read.

        Producers wait for the jobs of other services, because the load of running jobs would slow down further starts.
        """
        if self._progress_at is None:
            self._progress_at = self._began_at = now
            self.job.start()
            return [self.job]
        if not all(lane.watched.ready for lane in self.lanes) and now - self._began_at < PATIENCE_SECONDS:
            return []
        turns = [lane for lane in self.lanes if lane.has_turn]
        for lane in turns:
            lane.start()
        return [child for lane in turns for child in lane.producers]

    def look(self) -> tuple[ServiceView, ...]:
        """Return the current states of the services."""
        return tuple(lane.look() for lane in self.lanes)

    def require_progress(self, now: float) -> None:
        """Raise DemoError with the log's last lines if a process has ended or the next first commit is overdue."""
        for child in (self.job, *self.producers):
            child.require_alive()
        ready = sum(lane.is_ready for lane in self.lanes)
        if ready != self._ready or self._progress_at is None:
            self._ready, self._progress_at = ready, now
        if not self.are_ready and now - self._progress_at > READY_SECONDS:
            waiting = ", ".join(lane.watched.service.name for lane in self.lanes if not lane.is_ready)
            reason = f"no commit of {waiting} for {READY_SECONDS:.0f} s: see {self.job.log}."
            raise DemoError(reason, self.job.log_tail())
