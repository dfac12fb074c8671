"""The console's server, which watches jobs and serves the console's page."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from confluent_kafka.admin import AdminClient

from forebay.console.api import Api
from forebay.console.assets import assets
from forebay.console.engines import Engines
from forebay.console.groups import GroupOffsets
from forebay.console.job_address import WatchedJob
from forebay.console.local_queries import LocalQueries
from forebay.console.reports import ReportReader
from forebay.console.restores import RestoreReader
from forebay.console.topics import TopicPages
from forebay.console.watcher import JobWatcher
from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.kafka.settings import KafkaSettings
from forebay.queries.gate import Gate
from forebay.runtime.driver.broker_lag import read_lag
from forebay.runtime.observability.event_file import EventFile

log = logging.getLogger(__name__)


class ConsoleServer:
    """Serves the console of some jobs.

    Args:
        token: token for all requests except those of the page's files, which contain no data; None: no token.
        home: directory of the platform, with the events of jobs that run on this machine.
        engines: SQL engines to watch, too.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        jobs: Sequence[WatchedJob],
        queries: LocalQueries,
        token: bytes | None = None,
        home: Path = Path(".forebay"),
        engines: Engines | None = None,
    ) -> None:
        groups = GroupOffsets(kafka)
        reports, restores = ReportReader(groups), RestoreReader(groups, AdminClient(kafka.admin()))
        lag = partial(read_lag, kafka)
        files = [EventFile(home, job.application, kafka.bootstrap_servers) for job in jobs]
        self.watchers = [
            JobWatcher(job, reports, restores, lag, file.read) for job, file in zip(jobs, files, strict=True)
        ]
        self._api = Api(self.watchers, TopicPages(kafka), queries, engines=engines)
        self._queries = queries
        self._gate = Gate(token)
        self._pages = assets()

    def serve(self, host: str, port: int, stop: threading.Event) -> None:
        """Serve until `stop` is set. Raises PortInUse."""
        server = HttpServer(self.answer, host, port)
        log.info("the console is at http://%s:%d/", host, server.port)
        try:
            for watcher in self.watchers:
                name = f"watch {watcher.job.name}"
                threading.Thread(target=watcher.watch, args=(stop,), name=name, daemon=True).start()
            stop.wait()
        finally:
            server.close()
            self._queries.close()

    def answer(self, request: Request) -> Answer:
        """Return the response to a request: a file of the page, health, or data for the page."""
        page = self._pages.get(request.path)
        if page is not None:
            return page
        match request.path[0]:
            case "healthz" | "readyz":
                return Answer(200, "application/json", b'{"ok": true, "reason": "the console answers"}\n')
            case "api":
                return self._gate.refusal(request) or self._api.answer(request)
        return Answer(404, "text/plain; charset=utf-8", b"there is no such page: begin at /\n")
