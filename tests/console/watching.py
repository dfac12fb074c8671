"""A job's HTTP pages, a query server and a console that shows them, without a broker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as Asked
from urllib.request import urlopen

from confluent_kafka import TopicPartition

from forebay.catalog import Service, find_service
from forebay.console.api import Api
from forebay.console.assets import assets
from forebay.console.job_address import WatchedJob
from forebay.console.local_queries import LocalQueries
from forebay.console.reports import Reports
from forebay.console.restores import Restoring
from forebay.console.topics import TopicPages
from forebay.console.watcher import JobWatcher
from forebay.http.health import Health, health_server
from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.platform.ports import HOST
from forebay.queries.gate import Gate
from forebay.queries.pages import QueryPages
from forebay.queries.stores import JobStores
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures

SERVICE = "user-sessions"
TOPIC = "user_activity"
OUTPUT = "user_session_stats"


class Job:
    """A job's HTTP page, with reports of tasks that the test sets."""

    def __init__(self, service: str = SERVICE) -> None:
        self.metrics, self.health = JobMetrics(service), Health()
        self.server = health_server(self.health, self.metrics.registry, HOST, 0)
        self.url = f"http://{HOST}:{self.server.port}"
        self._opened = time.time_ns() // 1_000_000

    def report(self, records: int, at: int, tasks: int = 1, **more: Any) -> None:
        """Let each task report that it has processed this number of records since it was opened."""
        self.metrics.observe(
            [
                TaskFigures(
                    0,
                    task,
                    opened=self._opened,
                    at=at,
                    commits=1 + at,
                    records_in={TOPIC: records},
                    outputs=records,
                    sent={OUTPUT: records},
                    state_rows=records,
                    state_bytes=records * 100,
                    stores={"user-profiles": [records, records * 100, records, records]},
                    latencies=[0, 0, records, *[0] * (len(LATENCY_MS) - 2)],
                    latency_ms=records * 20,
                    **more,
                )
                for task in range(tasks)
            ]
        )
        self.health.working()

    def close(self) -> None:
        self.server.close()


class NoReports:
    """A reader without reports (a `ReportReader`)."""

    def read(self, _application: str, _stages: int) -> Reports:
        return Reports()


class Restores:
    """The changelog positions of restoring tasks, as the test sets them (a `RestoreReader`)."""

    def __init__(self) -> None:
        self.places: list[Restoring] = []

    def running(self, _application: str) -> None:
        self.places = []

    def read(self, _service: Service, _application: str) -> list[Restoring]:
        return self.places


class Records(TopicPages):
    """Topics whose records the test provides (a `TopicPages`)."""

    def __init__(self) -> None:
        self.records: dict[str, list[dict[str, Any]]] = {}

    def last(self, topic: str, count: int) -> dict[str, Any]:
        result = self.records.get(topic, [])[:count]
        return {"records": result, "partitions": 1, "offsets": len(result)}

    def follow(self, topic: str) -> Iterator[bytes]:
        return iter([b": following\n\n"])


class Console:
    """A console for some jobs, with its HTTP server and a query server.

    Args:
        jobs: Jobs, addresses of their pages, or watched jobs that have their own query servers.
        stores: Stores of the query server of all other jobs.
        token: Token that the console and the query server require.
    """

    def __init__(
        self, jobs: Sequence[str | Job | WatchedJob], stores: JobStores | None = None, token: bytes | None = None
    ) -> None:
        pages, gate = QueryPages(lambda: stores or JobStores([[]], [[]]), silent_seconds=0.2), Gate(token)
        self.queries = HttpServer(lambda request: gate.refusal(request) or pages.answer(request), HOST, 0)
        self.restores = Restores()
        self.backlog: dict[str, int] = {}
        self.watchers = [self._watcher(job, number) for number, job in enumerate(jobs)]
        self.records = Records()
        self.engines: list[dict[str, Any]] = []
        self.api = Api(self.watchers, self.records, LocalQueries(lambda *_: []), engines=self)  # type: ignore[arg-type]
        self._gate, self._pages = gate, assets()
        self.server = HttpServer(self._answer, HOST, 0)
        self.url = f"http://{HOST}:{self.server.port}"

    def _watcher(self, job: str | Job | WatchedJob, number: int) -> JobWatcher:
        if isinstance(job, WatchedJob):
            return JobWatcher(job, NoReports(), self.restores, self.lag)  # type: ignore[arg-type]
        name = ("user-sessions", "order-stores", "price-join")[number]
        page = job if isinstance(job, str) else job.url
        watched = WatchedJob(find_service(name), name, page, f"http://{HOST}:{self.queries.port}")
        return JobWatcher(watched, NoReports(), self.restores, self.lag)  # type: ignore[arg-type]

    def read(self) -> list[dict[str, Any]]:
        """Return the reports of the engines that the test sets, in place of `Engines`."""
        return self.engines

    def lag(self, _application: str, _topics: Sequence[str]) -> dict[str, int]:
        """Return the lag of all jobs that the test sets."""
        return self.backlog

    def _answer(self, request: Request) -> Answer:
        page = self._pages.get(request.path)
        return page or self._gate.refusal(request) or self.api.answer(request)

    def look(self, at_s: float) -> None:
        """Let the watchers poll at a time (s) since the epoch."""
        for watcher in self.watchers:
            watcher.look(at_s, at_s)

    def get(self, path: str, token: str = "", body: bytes | None = None) -> tuple[int, Any]:
        """Send a request, and return status and JSON content of the response."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with urlopen(Asked(self.url + path, body, headers), timeout=10) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def close(self) -> None:
        self.server.close()
        self.queries.close()


def status_report(figures: TaskFigures, topic: str, trouble: str = "") -> TopicPartition:
    """Return a committed offset with a task's report in its metadata."""
    metadata = json.dumps({"figures": figures.to_json(), "trouble": trouble})
    return TopicPartition(topic, figures.task, figures.commits, metadata)
