"""The JSON API of the console's pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from forebay.builder.description import picture_of
from forebay.builder.drawing import graph_of
from forebay.codec import DecodeError, Unavailable
from forebay.console.engines import Engines
from forebay.console.local_queries import LocalQueries
from forebay.console.proxy import handed_on
from forebay.console.reports import HeldLease
from forebay.console.topics import MOST, NoSuchTopic, TopicPages, topics_of
from forebay.console.watcher import JobWatcher
from forebay.http.messages import Answer, Request
from forebay.job import load_job, speaks_sql
from forebay.queries import parameters
from forebay.queries.reads import WrongQuery

_HELP = "try /api/jobs, /api/jobs/JOB, /api/jobs/JOB/history, /topics, /records, /tail, /q/stores, /q/sql, /api/engines"
_LAST = 50
_PATIENCE_S = 15.0


class UnknownJob(LookupError):
    """The console watches no such job. The message lists the watched jobs."""


class Api:
    """Answers the requests of the pages.

    Args:
        watchers: watchers of the jobs, in the order of the list.
        clock: seconds since the epoch.
        engines: SQL engines; None: no engine is watched.
    """

    def __init__(
        self,
        watchers: Sequence[JobWatcher],
        topics: TopicPages,
        queries: LocalQueries,
        clock: Callable[[], float] = time.time,
        engines: Engines | None = None,
    ) -> None:
        self._engines = engines or Engines()
        self._watchers: Mapping[str, JobWatcher] = {watcher.job.name: watcher for watcher in watchers}
        self._topics = topics
        self._queries = queries
        self._clock = clock
        self._graphs: dict[str, dict[str, Any]] = {}
        self._silent: tuple[float, str] = (0.0, "")

    def answer(self, request: Request) -> Answer:
        """Return the response to a request whose path begins with `api`. Errors are returned as `{"error": ...}`."""
        try:
            match request.path[1:]:
                case ("jobs",):
                    return self._jobs(request)
                case ("engines",):
                    parameters.check_names(request.parameters, ())
                    return _json({"engines": self._engines.read()})
                case ("jobs", name):
                    return self._job(self._watcher(name), request)
                case ("jobs", name, "history"):
                    since = parameters.number(request.parameters, "since", 0, 0, 1 << 40)
                    return _json(self._watcher(name).ring.show(self._clock(), since))
                case ("jobs", name, "topics"):
                    return self._topics_of(self._watcher(name))
                case ("jobs", name, "records", topic):
                    count = parameters.number(request.parameters, "last", _LAST, 1, MOST)
                    return _json(self._topics.last(self._own(self._watcher(name), topic), count))
                case ("jobs", name, "tail", topic):
                    events = self._topics.follow(self._own(self._watcher(name), topic))
                    return Answer(200, "text/event-stream", events)
                case ("jobs", name, "q", *path):
                    return self._query(self._watcher(name), tuple(path), request)
                case _:
                    return _error(404, _HELP)
        except (UnknownJob, NoSuchTopic) as error:
            return _error(404, str(error.args[0]))
        except WrongQuery as error:
            return _error(400, str(error))
        except (Unavailable, DecodeError) as error:
            return _error(503, str(error))

    def _watcher(self, name: str) -> JobWatcher:
        if name not in self._watchers:
            raise UnknownJob(f"the console watches no job {name!r}: choose from {', '.join(self._watchers)}")
        return self._watchers[name]

    def _jobs(self, request: Request) -> Answer:
        parameters.check_names(request.parameters, ())
        now = self._clock()
        return _json({"at_ms": int(now * 1000), "jobs": [watcher.overview(now) for watcher in self._watchers.values()]})

    def _job(self, watcher: JobWatcher, request: Request) -> Answer:
        """Return the current state of a job, with `topology=1` also its topology."""
        parameters.check_names(request.parameters, ("topology",))
        now = self._clock()
        shown = {"at_ms": int(now * 1000), "job": watcher.overview(now), **watcher.live(), **self._reports(watcher)}
        if "topology" in request.parameters:
            shown |= {"topology": self._graph(watcher), "sql": speaks_sql(load_job(watcher.job.service.job))}
        return _json(shown)

    def _reports(self, watcher: JobWatcher) -> dict[str, Any]:
        # A request to a broker that is down takes seconds to fail. Do not make the page wait for it each time.
        until, said = self._silent
        if self._clock() < until:
            return {"reports": [], "reports_error": said, "restores": []}
        try:
            reports, restores = watcher.reports(), watcher.restores()
        except Unavailable as error:
            self._silent = self._clock() + _PATIENCE_S, str(error)
            return {"reports": [], "reports_error": str(error), "restores": []}
        return {
            "reports": [
                {
                    **_lease(reports.leases.get((item.sub_topology, item.task))),
                    "stage": item.sub_topology,
                    "task": item.task,
                    "worker": item.worker,
                    "opened_ms": item.opened,
                    "told_ms": item.at,
                    "commits": item.commits,
                    "records_in": sum(item.records_in.values()),
                    "restored_rows": item.restored_rows,
                    "restore_seconds": round(item.restore_seconds, 3),
                    "tail_rows": item.tail_rows,
                }
                for item in reports.figures
            ],
            "reports_error": reports.trouble,
            "restores": [asdict(restore) for restore in restores],
        }

    def _graph(self, watcher: JobWatcher) -> dict[str, Any]:
        job = watcher.job
        if job.name not in self._graphs:
            self._graphs[job.name] = graph_of(picture_of(job.service, load_job(job.service.job), job.application))
        return self._graphs[job.name]

    def _topics_of(self, watcher: JobWatcher) -> Answer:
        job = watcher.job
        named = topics_of(job.service, job.application)
        return _json({"topics": [{"name": topic.name, "role": topic.role} for topic in named]})

    def _own(self, watcher: JobWatcher, topic: str) -> str:
        known = [topic.name for topic in topics_of(watcher.job.service, watcher.job.application)]
        if topic not in known:
            raise NoSuchTopic(f"{topic!r} is not a topic of {watcher.job.name}: choose from {', '.join(known)}")
        return topic

    def _query(self, watcher: JobWatcher, path: tuple[str, ...], request: Request) -> Answer:
        waits = self._queries.starting(watcher.job)
        if waits:
            return _error(503, waits)
        return handed_on(self._queries.address(watcher.job), path, request)


def _lease(held: HeldLease | None) -> dict[str, int]:
    return {} if held is None else {"lease": held.number, "lease_planned_ms": held.planned_ms}


def _json(content: dict[str, Any]) -> Answer:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
    return Answer(200, "application/json", body, {"Cache-Control": "no-store"})


def _error(status: int, text: str) -> Answer:
    return Answer(status, "application/json", json.dumps({"error": text}, ensure_ascii=False).encode())
