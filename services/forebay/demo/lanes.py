"""Services' producers under watch; they begin once the jobs read, so that the starts have the cores."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.demo.children import Child
from forebay.demo.errors import DemoError
from forebay.demo.view import ServiceView
from forebay.demo.watched import WatchedService

READY_SECONDS = 300.0
"""How long it may take until the next of the services has its first commit."""

PATIENCE_SECONDS = 75.0
"""How long producers wait for jobs of others that do not read yet."""


class Lane:
    """One service: the producers of its input, and what is seen of its job.

    Args:
        producers: of its input topics, those of an earlier lane left out.
    """

    def __init__(self, producers: Sequence[Child], watched: WatchedService) -> None:
        self.producers = tuple(producers)
        self.watched = watched
        self.is_started = False
        self.is_ready = False

    @property
    def children(self) -> tuple[Child, ...]:
        """The processes that run."""
        return self.producers if self.is_started else ()

    @property
    def has_turn(self) -> bool:
        """Whether its producers should start: its job reads."""
        return self.watched.ready and not self.is_started

    def start(self) -> None:
        """Start the producers. Raises DemoError."""
        self.is_started = True
        for child in self.producers:
            child.start()

    def look(self) -> ServiceView:
        """Return how the service is now; it is ready from its first commit on."""
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
        """Whether every job has committed something."""
        return self._ready == len(self.lanes)

    @property
    def producers(self) -> list[Child]:
        """The producers that run."""
        return [child for lane in self.lanes for child in lane.children]

    def next_to_start(self, now: float) -> list[Child]:
        """Start what has its turn (monotonic seconds): the jobs first, then the producers of those that read.

        They wait for one another's jobs: the load of those that work would make each further start longer.
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
        """Return how the services are now."""
        return tuple(lane.look() for lane in self.lanes)

    def require_progress(self, now: float) -> None:
        """Raise DemoError, with the log's last lines, if a process has ended or no further job gets to a commit."""
        for child in (self.job, *self.producers):
            child.require_alive()
        ready = sum(lane.is_ready for lane in self.lanes)
        if ready != self._ready or self._progress_at is None:
            self._ready, self._progress_at = ready, now
        if not self.are_ready and now - self._progress_at > READY_SECONDS:
            waiting = ", ".join(lane.watched.service.name for lane in self.lanes if not lane.is_ready)
            reason = f"no commit of {waiting} for {READY_SECONDS:.0f} s: see {self.job.log}."
            raise DemoError(reason, self.job.log_tail())
