"""Samples a job every two seconds, even if no browser has the page open."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forebay.codec import Unavailable
from forebay.console.backlog import BacklogReader, Lag
from forebay.console.events import Events
from forebay.console.job_address import NoAnswer, WatchedJob, page
from forebay.console.moments import Moment, Recent, moment_of
from forebay.console.reports import ReportedMetrics, ReportReader, Reports
from forebay.console.restores import RestoreReader, Restoring
from forebay.console.ring import Ring
from forebay.console.verdicts import JobVerdict, State, end_of, is_last, judge

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
_POINTS = 60
_RATES = ("in", "out", "errors", "errors_share", "late")


_STOPPED = State.DOWN, State.ENDED
"""States in which no task reports the lag, although inputs grow."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of one look at a job.

    Args:
        moment: current sample of its metrics; None if it has no metrics now.
        backlog: pending records of a job that does not run, by input topic; empty if unknown.
        since_ms: when it entered the state, ms since the epoch; 0 if unknown.
        exit_code: exit code of a job that ended.
        restarts: restarts of its query and workers that the job lists, and events of its processes on this machine.
    """

    state: State
    reason: str
    moment: Moment | None = None
    since_ms: int = 0
    exit_code: int | None = None
    backlog: Mapping[str, int] = field(default_factory=dict)
    restarts: Sequence[Mapping[str, Any]] = ()

    @property
    def waiting(self) -> int | None:
        """The pending records of a job that does not run; None if unknown."""
        return sum(self.backlog.values()) if self.backlog else None


class JobWatcher:
    """Watches one job, and keeps the statistics of an hour.

    Args:
        reports: reads its tasks' reports, when a user opens the job's page, and for jobs without an HTTP page.
        restores: reads the progress of restores, when a user opens the page of a job that does not run.
        lag: reads the lag of a job that does not run.
        events: returns the events that the job's processes wrote on this machine.
    """

    def __init__(
        self,
        job: WatchedJob,
        reports: ReportReader,
        restores: RestoreReader,
        lag: Lag,
        events: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
    ) -> None:
        self.job = job
        self.ring = Ring()
        self._reader = reports
        self._restores = restores
        self._backlog = BacklogReader(job, lag)
        self._events_here = events
        self._reported = ReportedMetrics(job.name)
        self._recent = Recent()
        self._lock = threading.Lock()
        self._seen_now = Seen(State.STARTING, "not looked at yet")
        self._since_ms = 0
        self._seen_at = 0.0
        self._events = Events()

    def watch(self, stop: threading.Event) -> None:
        """Sample the job until `stop` is set."""
        while not stop.is_set():
            begun = time.monotonic()
            try:
                self.look(time.time(), begun)
            except Exception:  # an unexpected page of the job must not end the watch
                log.exception("the state of the job %s can't be read; retrying", self.job.name)
            stop.wait(max(0.1, LOOK_SECONDS - (time.monotonic() - begun)))

    def look(self, now_s: float, at_s: float) -> None:
        """Sample the job once.

        Args:
            now_s: seconds since the epoch; at_s: monotonic.
        """
        seen = self._seen(now_s, at_s)
        if seen.state in _STOPPED:
            seen = replace(seen, backlog=self._backlog.read())
        else:
            self._backlog.forget()
        moment = seen.moment
        with self._lock:
            if seen.since_ms or seen.state is not self._seen_now.state or not self._since_ms:
                self._since_ms = seen.since_ms or int(now_s * 1000)
            self._events.note_restarts(seen.restarts)
            self._events.note_state(seen.state.value, self._since_ms, seen.reason)
            self._seen_now = seen
            if moment is None:
                self._recent.clear()
                if seen.waiting is not None:
                    self.ring.put(now_s, {"lag": seen.waiting})
                return
            self._seen_at = now_s
            self._recent.add(moment)
            rates = self._recent.rates()
            if rates:
                self.ring.put(now_s, {**_headline(rates, moment), **self._latencies()})

    def _seen(self, now_s: float, at_s: float) -> Seen:
        try:
            if not self.job.page:
                return self._by_reports(now_s, at_s)
            _, text = page(f"{self.job.page}/metrics")
            moment = moment_of(text, self.job.name, at_s)
            _, body = page(f"{self.job.page}/readyz")
            verdict = json.loads(body)
            restarts = (*verdict.get("restarts", ()), *self._events_here())
            if "ended" in verdict:
                end = verdict["ended"]
                exit_code = int(end["exit_code"])
                return Seen(State.ENDED, str(end["reason"]), None, int(end["at_ms"]), exit_code, restarts=restarts)
            state = State.RUNNING if verdict["ok"] else State.TROUBLE if moment.figures.commits else State.STARTING
            return Seen(state, str(verdict["reason"]), moment, restarts=restarts)
        except NoAnswer as error:
            end = end_of(self._events_here())
            if end is not None and self._is_last(end):
                return Seen(end.state, end.reason, None, end.since_ms, end.exit_code)
            return Seen(State.DOWN, f"{self.job.page} does not answer ({error}): is `forebay run {self.job.name}` up?")
        except (ValueError, KeyError, TypeError):
            wrong = f"{self.job.page} answers, but not as a job of Forebay does: use the address of its /metrics"
            return Seen(State.DOWN, wrong)
        except Unavailable as error:
            return Seen(State.DOWN, f"{error}: does the broker run?")

    def _by_reports(self, now_s: float, at_s: float) -> Seen:
        reports, events = self.reports(), self._events_here()
        verdict = judge(reports, events, f"`forebay run {self.job.name}`", int(now_s * 1000))
        moment = None
        if verdict.state in (State.RUNNING, State.TROUBLE):
            moment = moment_of(self._reported.page(reports), self.job.name, at_s)
        since_ms = 0 if verdict.state is State.RUNNING else verdict.since_ms
        return Seen(verdict.state, verdict.reason, moment, since_ms, verdict.exit_code, restarts=events)

    def _is_last(self, end: JobVerdict) -> bool:
        try:
            return is_last(end, self.reports())
        except Unavailable:  # then the end is all that is known
            return True

    def reports(self) -> Reports:
        """Return the tasks' current reports. Raises Unavailable."""
        return self._reader.read(self.job.application, self.job.service.stages)

    def restores(self) -> list[Restoring]:
        """Return the progress of the tasks' restore; [] while the job runs.

        Raises:
            Unavailable: the broker does not answer, or a right is missing.
        """
        with self._lock:
            state = self._seen_now.state
        if state is State.RUNNING:
            self._restores.running(self.job.application)
            return []
        return self._restores.read(self.job.service, self.job.application)

    def overview(self, now_s: float) -> dict[str, Any]:
        """Return the job's line in the list of all jobs. Unknown values are None."""
        with self._lock:
            latest = self._recent.latest
            figures = None if latest is None else latest.figures
            return {
                "name": self.job.name,
                "application": self.job.application,
                "summary": self.job.service.summary,
                "state": self._seen_now.state.value,
                "reason": self._seen_now.reason,
                "since_ms": self._since_ms,
                "exit_code": self._seen_now.exit_code,
                "seen_ms": int(self._seen_at * 1000),
                **(self._without_figures() if latest is None else self._rates(latest)),
                **self._latencies(),
                "errors_total": None if figures is None else figures.errors,
                "late_total": None if figures is None else figures.late,
                "restarts": None if figures is None else figures.restarts,
                "rows": None if figures is None else figures.state_rows,
                "bytes": None if figures is None else figures.state_bytes,
                "stream_time_ms": _ms(None if figures is None else figures.stream_time_s),
                "trend": self.ring.lately("in", now_s, _POINTS),
            }

    def live(self) -> dict[str, Any]:
        """Return the values that change on the job's page: rates by place, stores, tasks, lags."""
        with self._lock:
            latest, backlog = self._recent.latest, self._seen_now.backlog
            rates: dict[str, dict[str, float]] = {}
            for (kind, name), rate in self._recent.rates().items():
                rates.setdefault(kind, {})[name] = round(rate, 2)
            events = self._events.to_json()
        if latest is None:
            return {"rates": {}, "stores": {}, "tasks": [], "lags": dict(backlog), "events": events}
        return {
            "rates": rates,
            "stores": {name: {"rows": held.rows, "bytes": held.bytes} for name, held in latest.stores.items()},
            "tasks": [{"stage": stage, "task": task, **levels} for (stage, task), levels in latest.tasks.items()],
            "lags": latest.lags,
            "events": events,
        }

    def _without_figures(self) -> dict[str, float | None]:
        return {**dict.fromkeys(_RATES), "lag": self._seen_now.waiting}

    def _rates(self, latest: Moment) -> dict[str, float | None]:
        rates = self._recent.rates()
        if not rates:
            return {**dict.fromkeys(_RATES), "lag": latest.figures.lag}
        headline = _headline(rates, latest)
        return {**headline, "errors_share": _share(headline["errors"], headline["in"])}

    def _latencies(self) -> dict[str, float | None]:
        latencies = {} if self._recent.latest is None else self._recent.latest.latencies_ms
        return {"p50": latencies.get(0.5), "p99": latencies.get(0.99)}


def _headline(rates: dict[tuple[str, str], float], moment: Moment) -> dict[str, float | None]:
    read = sum(rate for (kind, _), rate in rates.items() if kind == "in")
    return {
        "in": read,
        "out": rates.get(("out", "output"), 0.0),
        "errors": rates.get(("out", "errors"), 0.0),
        "late": rates.get(("out", "late"), 0.0),
        "lag": moment.figures.lag,
    }


def _share(errors: float | None, read: float | None) -> float | None:
    """Return the share of the read records that failed; None if no record was read.

    More may fail than were read, because timers and records of repartition topics may fail, too.
    """
    return min(1.0, (errors or 0.0) / read) if read else None


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)
