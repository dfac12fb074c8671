"""A query server, which follows a job's changelogs and answers queries of its stores."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from forebay.catalog import Service
from forebay.http.health import Health, health_page
from forebay.http.messages import Answer, Limits, Request, Tls
from forebay.http.server import HttpServer
from forebay.job import load_job, plans_of
from forebay.kafka.codecs import reading_codec
from forebay.kafka.identities import queries_group
from forebay.kafka.registry import shared_registry
from forebay.kafka.retrying import keep_trying
from forebay.kafka.settings import KafkaSettings
from forebay.queries.gate import Gate
from forebay.queries.merged_topics import MergedTopics
from forebay.queries.metrics import QueryMetrics
from forebay.queries.openapi import openapi
from forebay.queries.pages import QueryPages
from forebay.queries.parts.asking import AllParts
from forebay.queries.parts.servers import Settings
from forebay.queries.parts.serving import ServedPart
from forebay.queries.push import Tail
from forebay.queries.replica import TaskReplica
from forebay.queries.saved_rows import Files
from forebay.queries.sending import send_records
from forebay.queries.stores import JobStores
from forebay.runtime.broker.tombstones import kept_seconds
from forebay.runtime.changelog.sub_topology_log import sub_topology_logs
from forebay.runtime.driver.broker_lag import read_lag
from forebay.runtime.errors import Unavailable
from forebay.runtime.maintenance.follower import ChangelogsAnew, Follower, count_followed, follower_of
from forebay.serde.subjects import connect

if TYPE_CHECKING:
    from forebay.queries.sql_pages import SqlPages
    from forebay.sql.queryable import Queryable

log = logging.getLogger(__name__)


class _Anew(Exception):
    pass


class QueryServer:
    """A server of a job's stores.

    Args:
        logic: settings of the job, which determine its stores.
        token, logins: queries must send the token or one of the logins, if there are any. Health and metrics need
            none.
        directory: directory of this process alone for files of rows; None: rows are in memory.
        parts: settings if this server holds only a part of the tasks; None: it holds all.

    Raises:
        FilesInUse: another process uses the directory. OSError: the CA certificates of the parts can't be read.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        service: Service,
        application: str,
        logic: Mapping[str, Any],
        token: bytes | None = None,
        directory: Path | None = None,
        logins: Collection[bytes] = (),
        parts: Settings | None = None,
    ) -> None:
        self._files = None if directory is None else Files(directory, application)
        self._resumes = True
        self._kafka = kafka
        self._service = service
        self._application = application
        connect(shared_registry(kafka.registry()))
        self._logs = sub_topology_logs(service, application, logic)
        self._codecs = [
            {
                store.name: store.format.codec(lambda record: reading_codec(kafka, service.name, record))
                for store in item.stores
            }
            for item in self._logs
        ]
        self._stores = JobStores([item.stores for item in self._logs], [[] for _ in self._logs])
        self._registry = CollectorRegistry()
        self._metrics = QueryMetrics(service.name, self._registry)
        self._gate = Gate(token, logins)
        self._part = None if parts is None else self._served_part(parts)
        all_parts = None if self._part is None else self._part.all
        self._pages = QueryPages(lambda: self._stores, parts=all_parts)
        self._sql = self._sql_pages(all_parts)
        self.health = Health()

    def serve(
        self,
        host: str,
        port: int,
        every_seconds: float,
        stop: threading.Event,
        limits: Limits = Limits(),  # noqa: B008 (it does not change)
        tls: Tls | None = None,
    ) -> None:
        """Serve until `stop` is set.

        Args:
            every_seconds: interval at which the stores are updated.

        Raises:
            PortInUse: the port is in use. TopicMissing: the job has no changelogs. WrongParts: the parts don't match.
        """
        server = HttpServer(self.answer, host, port, limits, tls)
        place = f"{'http' if tls is None else 'https'}://{host}:{server.port}"
        log.info("%s: %s has /stores, /changes, /openapi.json, /healthz, /readyz, /metrics", self._name, place)

        try:
            self.follow(every_seconds, stop)
        finally:
            server.close()

    def follow(self, every_seconds: float, stop: threading.Event) -> None:
        """Update the stores, which `answer` reads, until `stop` is set.

        Raises:
            TopicMissing: the job has no changelogs. WrongParts: the parts don't match.
        """

        def pause(seconds: float) -> None:
            stop.wait(seconds)

        try:
            if self._part is not None:
                self._part.begin(stop)
            while not stop.is_set():
                try:
                    self._follow(keep_trying(self._begin, pause=pause), every_seconds, stop, pause)
                except _Anew as error:
                    log.warning("%s: %s: reading them again from the beginning", self._name, error)
        finally:
            self._stores.close()
            if self._part is not None:
                self._part.close()
            if self._files is not None:
                self._files.close()

    def answer(self, request: Request) -> Answer:
        """Return the response to a request."""
        page = None if self._part is None else self._part.open_page(request, self.health)
        page = page or health_page(request, self.health, self._registry)
        if page is not None:
            return page
        begun = time.perf_counter()
        answer = self._gate.refusal(request) or self._route(request)
        # Use only declared names as labels. Names from requests would create a time series for each typing error.
        named = request.path[1] if len(request.path) > 1 else ""
        store = named if named in self._stores.declared else ""
        self._metrics.count_answer(store, answer.status, time.perf_counter() - begun)
        return answer

    def read_statements(self) -> None:
        """Use the job's current statements to answer SQL. Call it only if the queries among them did not change."""
        self._sql = self._sql_pages(None if self._part is None else self._part.all)

    def _route(self, request: Request) -> Answer:
        if request.path == ("openapi.json",):
            return openapi(self._sql is not None)
        # Answer a request of another server from this server's own tasks, without forwarding it again.
        if self._part is not None and (request.forwarded or request.path[0] == "part"):
            return self._part.answer(request)
        if request.path == ("sql",) and self._sql is not None:
            return self._sql.answer(request)
        return self._pages.answer(request)

    def _served_part(self, parts: Settings) -> ServedPart:
        codecs = {name: codec for of_sub_topology in self._codecs for name, codec in of_sub_topology.items()}
        name, application = self._service.name, self._application
        return ServedPart(parts, name, application, self._logs, codecs, lambda: self._stores, self._registry)

    def _sql_pages(self, parts: AllParts | None) -> SqlPages | None:
        queryable = self._queryable()
        if queryable is None:
            return None
        from forebay.queries.printing import follow_topic  # noqa: PLC0415
        from forebay.queries.sql_pages import SqlPages  # noqa: PLC0415

        # The topics of views have contracts, and producers of their own.
        sends = None if queryable.lower else partial(send_records, self._kafka)
        tail, follow = partial(Tail, self._kafka, queryable.codecs), partial(follow_topic, self._kafka)
        lag = partial(read_lag, self._kafka, self._application)
        watch = partial(MergedTopics, self._kafka)
        return SqlPages(queryable, lambda: self._stores, tail, parts, sends, follow, lag, watch)

    def _queryable(self) -> Queryable | None:
        # The SQL parser is an extra: a job written in Python is queried without it.
        job = load_job(self._service.job)
        if job.program is not None:
            from forebay.sql.queryable import queryable  # noqa: PLC0415

            return queryable(job.program)
        plans = plans_of(job)
        if not plans:
            return None
        from forebay.views.queryable import queryable_views  # noqa: PLC0415

        return queryable_views(plans)

    @property
    def _name(self) -> str:
        return f"{self._application}-queries"

    def _begin(self) -> Follower:
        """Create new stores, and return a follower that reads the changelogs into them."""
        try:
            tasks = count_followed(self._kafka, self._logs[0])
        except Exception as error:
            self.health.failing(str(error))
            raise
        held = range(tasks) if self._part is None else self._part.tasks(tasks)
        kept_s = self._kept_seconds()
        replicas = [
            [
                TaskReplica(
                    task, item, codecs, None if self._files is None else self._files.table(sub_topology, task), kept_s
                )
                for task in held
            ]
            for sub_topology, (item, codecs) in enumerate(zip(self._logs, self._codecs, strict=True))
        ]
        # A second call means that the changelogs were replaced, so the positions in files are then useless.
        self._resumes = False
        # Replace the stores before closing the old ones. A request then reads the new stores, which ask it to retry,
        # instead of a closed table.
        previous, self._stores = self._stores, JobStores([item.stores for item in self._logs], replicas, tasks)
        previous.close()
        followed = [(replica.task, replica) for sub_topology in replicas for replica in sub_topology]
        return follower_of(self._kafka, queries_group(self._application), followed)

    def _kept_seconds(self) -> float:
        """Return the maximum age of files to resume from, in seconds; 0: always start empty."""
        if self._files is None or not self._resumes:
            return 0.0
        return kept_seconds(self._kafka, {topic for item in self._logs for topic in item.rows().topics})

    def _follow(
        self, follower: Follower, every_seconds: float, stop: threading.Event, pause: Callable[[float], None]
    ) -> None:
        """Follow the changelogs until `stop`. Without a broker, the stores still answer with their last content."""
        on_round = self._round_is_over()

        def follow() -> None:
            try:
                follower.follow(stop, every_seconds, on_round)
            except ChangelogsAnew as error:
                raise _Anew(str(error)) from error
            # Old content is better than none. Once current, the server stays ready while the broker is away.
            except Unavailable as error:
                if self._stores.is_current:
                    self.health.progress()
                else:
                    self.health.failing(str(error))
                raise

        with closing(follower):
            keep_trying(follow, pause=pause)

    def _round_is_over(self) -> Callable[[int, int], None]:
        begun, stores, announced = time.monotonic(), self._stores, False

        def on_round(_batch: int, rows: int) -> None:
            nonlocal announced
            stores.round_is_over()
            self._metrics.rows.set(rows)
            self._metrics.subscribers.set(stores.subscribers)
            self.health.progress()
            if not stores.is_current:
                return
            self._metrics.caught_up.set_to_current_time()
            self.health.working()
            if not announced:
                log.info("%s: %d rows read in %.1f s: ready for queries", self._name, rows, time.monotonic() - begun)
                announced = True

        return on_round
