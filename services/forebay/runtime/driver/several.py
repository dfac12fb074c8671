"""Several jobs in one process and one Spark. Each job fails, restarts and ends independently."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from forebay.http.health import Health
from forebay.utils.flags import Flag

log = logging.getLogger(__name__)

TURN_SECONDS = 45.0
"""How long a starting job may delay the start of other jobs."""

_POLL_SECONDS = 0.1


class OneJob(Protocol):
    """The interface of a job (see `JobApplication`)."""

    health: Health

    @property
    def application(self) -> str:
        """Its application id."""
        ...

    def run(self) -> None:
        """Run until it ends."""
        ...

    def stop(self) -> None:
        """Ask it to end."""
        ...


class JobsFailed(Exception):
    """Jobs ended because they cannot continue.

    Args:
        problems: a line for each job, with its application id.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class _Running:
    """One job on its own thread."""

    def __init__(self, job: OneJob) -> None:
        self.job = job
        self.problem = ""
        self.started_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"job-{job.application}", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    def start(self, now: float) -> None:
        """Run it from now on (monotonic seconds)."""
        self.started_at = now
        self._thread.start()

    def _run(self) -> None:
        try:
            self.job.run()
        except Exception as error:  # one job's end is not that of the others
            said = str(error) or type(error).__name__
            self.problem = f"{self.job.application}: {said}"
            self.job.health.set_end(said, exit_code=1)
            log.error("%s: ended; the other jobs continue: %s", self.job.application, said)
        else:
            self.job.health.set_end("it was asked to stop", exit_code=0)

    def is_busy_starting(self, now: float) -> bool:
        """Return whether another start should wait for this one."""
        begun = self.started_at is not None and now - self.started_at < TURN_SECONDS
        return begun and self.is_alive and self.job.health.is_starting


class SeveralJobs:
    """Runs jobs until `stop`, or until all have ended.

    Args:
        close: stops what the jobs share, once all have ended.
        at_once: how many jobs may start together. A starting job keeps a core or two busy.
    """

    def __init__(self, jobs: Sequence[OneJob], close: Callable[[], None], at_once: int = 0) -> None:
        self._running = [_Running(job) for job in jobs]
        self._close = close
        self._at_once = at_once or starts_at_once()
        self._stopping = Flag()

    @property
    def jobs(self) -> list[OneJob]:
        """The jobs."""
        return [running.job for running in self._running]

    def stop(self) -> None:
        """Ask all jobs to end once their running leases have; safe in a signal handler."""
        self._stopping.set()
        for running in self._running:
            running.job.stop()

    def run(self) -> None:
        """Run the jobs.

        Raises:
            JobsFailed: once all have ended, if some cannot continue.
        """
        try:
            while self._start_due():
                time.sleep(_POLL_SECONDS)
        finally:
            self._close()
        problems = [running.problem for running in self._running if running.problem]
        if problems:
            raise JobsFailed(problems)

    def _start_due(self) -> bool:
        """Start the jobs whose turn has come; return whether any job waits for its start or runs."""
        now = time.monotonic()
        if not self._stopping.is_set():
            for running in self._next(now):
                running.start(now)
        waiting = not self._stopping.is_set() and any(running.started_at is None for running in self._running)
        return waiting or any(running.is_alive for running in self._running)

    def _next(self, now: float) -> list[_Running]:
        """Return the jobs to start now, in order; at most `at_once` jobs may not have committed yet."""
        free = self._at_once - sum(running.is_busy_starting(now) for running in self._running)
        return [running for running in self._running if running.started_at is None][: max(0, free)]


def starts_at_once() -> int:
    """Return how many jobs may start together on this machine."""
    return os.cpu_count() or 1
