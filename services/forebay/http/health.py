"""The health of a process, and its pages /healthz, /readyz and /metrics."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from forebay.http.messages import Answer, Request, json_answer
from forebay.http.server import HttpServer

NO_PAGE = Answer(404, "text/plain", b"try /healthz, /readyz or /metrics\n")

_RESTARTS = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a health check, and its reason."""

    ok: bool
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """The end of a job: reason, time (ms since the epoch), and the exit code that it has if it runs alone."""

    reason: str
    at_ms: int
    exit_code: int


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart of a part of a job, while its process continued.

    Args:
        at_ms: ms since the epoch.
        what: "query", or "worker".
        reason: the reason, with the remedy if there is one.
    """

    at_ms: int
    what: str
    reason: str


class Health:
    """The health of a job: alive while the tasks' loops run, ready once they have begun.

    Args:
        stuck_seconds: time without progress after which the job counts as dead.
    """

    def __init__(self, stuck_seconds: float = 300.0) -> None:
        self._stuck_seconds = stuck_seconds
        self._progress = time.monotonic()
        self._ready = False
        self._trouble = ""
        self._end: End | None = None
        self._restarts: deque[Restart] = deque(maxlen=_RESTARTS)
        self.listener: Callable[[Restart], None] | None = None
        """Called with each restart."""

    @property
    def end(self) -> End | None:
        """How the job ended; None while it runs."""
        return self._end

    @property
    def restarts(self) -> tuple[Restart, ...]:
        """The last restarts, oldest first."""
        return tuple(self._restarts)

    @property
    def is_starting(self) -> bool:
        """Whether no task has begun yet, and none has failed to begin."""
        return not self._ready and not self._trouble and self._end is None

    def progress(self) -> None:
        """Record a sign of life."""
        self._progress = time.monotonic()

    def working(self) -> None:
        """Record that tasks read and commit, or that there are no records and the broker answers."""
        self._ready, self._trouble = True, ""
        self.progress()

    def starting(self) -> None:
        """Record that the job no longer waits for anything outside, and starts."""
        self._ready, self._trouble = False, ""
        self.progress()

    def failing(self, reason: str) -> None:
        """Record that the job waits for something outside, such as the broker. It is alive, but not ready."""
        self._ready, self._trouble = False, reason
        self.progress()

    def note_restart(self, what: str, reason: str) -> None:
        """Add a restart to the list that /readyz returns."""
        restart = Restart(time.time_ns() // 1_000_000, what, reason)
        self._restarts.append(restart)
        if self.listener is not None:
            self.listener(restart)

    def set_end(self, reason: str, exit_code: int) -> None:
        """Record that the job ended, and will not restart in this process."""
        self._end = End(reason, time.time_ns() // 1_000_000, exit_code)
        self.progress()

    def alive(self) -> Verdict:
        """Return whether the job makes progress. A job that ended is alive, because its process may run other jobs."""
        if self._end is not None:
            return Verdict(True, f"ended: {self._end.reason}")
        silent = time.monotonic() - self._progress
        if silent > self._stuck_seconds:
            return Verdict(False, f"no progress for {silent:.0f} s: see the log; a restart is safe")
        return Verdict(True, f"progress {silent:.1f} s ago")

    def ready(self) -> Verdict:
        """Return whether the job reads and writes."""
        if self._end is not None:
            return Verdict(False, f"ended: {self._end.reason}")
        if self._trouble:
            return Verdict(False, self._trouble)
        return Verdict(self._ready, "the tasks read and commit" if self._ready else "starting: no task has begun yet")


def health_page(request: Request, health: Health, registry: CollectorRegistry) -> Answer | None:
    """Return the response to /healthz, /readyz or /metrics; None for other paths."""
    match request.path:
        case ("metrics",):
            return Answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
        case ("healthz",):
            return verdict_answer(health.alive())
        case ("readyz",):
            end, restarts = health.end, health.restarts
            more: dict[str, Any] = {} if end is None else {"ended": asdict(end)}
            if restarts:
                more["restarts"] = [asdict(restart) for restart in restarts]
            return verdict_answer(health.ready(), **more)
        case _:
            return None


def health_server(health: Health, registry: CollectorRegistry, host: str, port: int) -> HttpServer:
    """Return a server of health and metrics. Raises PortInUse."""
    return HttpServer(lambda request: health_page(request, health, registry) or NO_PAGE, host, port)


def verdict_answer(verdict: Verdict, **more: Any) -> Answer:
    """Return the response of a verdict, with additional fields: 200, or 503 with the reason."""
    return json_answer(200 if verdict.ok else 503, {"ok": verdict.ok, "reason": verdict.reason, **more})
