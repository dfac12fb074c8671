"""One service's job as a process: prepare, run, report, end."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from forebay.catalog import Service, find_service
from forebay.http.health import Health, health_server
from forebay.job import global_tables, load_job
from forebay.kafka.acls import Role
from forebay.kafka.errors import LoginRefused
from forebay.kafka.retrying import REFUSED_S, keep_trying
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topic_limits import read_topic_limits
from forebay.runtime.broker.tombstones import kept_seconds
from forebay.runtime.code_version import code_version
from forebay.runtime.driver.abandoned import count_abandoned
from forebay.runtime.driver.broker_check import check_broker
from forebay.runtime.driver.checkpoint import held_checkpoint, may_be_begun
from forebay.runtime.driver.compacted_inputs import check_compacted_inputs
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.jvmlock import held_by_jvm
from forebay.runtime.driver.logic_settings import parse_logic
from forebay.runtime.driver.pattern_inputs import find_matches
from forebay.runtime.driver.prepare import (
    check_gaps,
    check_topics,
    count_tasks,
    find_former,
    register_contracts,
    warn_of_unlogged_stores,
)
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.driver.record_formats import check_record_formats
from forebay.runtime.driver.restore import Restore
from forebay.runtime.driver.rights import JobRights
from forebay.runtime.driver.sessions import Sessions, own_session
from forebay.runtime.driver.slots import SlotWatch, require_slots
from forebay.runtime.driver.state_origin import takes_state
from forebay.runtime.driver.task_reports import TaskReports
from forebay.runtime.driver.watch import Watcher
from forebay.runtime.kubernetes.api import is_followed
from forebay.runtime.kubernetes.driver_lease import driver_lease
from forebay.runtime.kubernetes.members import following_executors
from forebay.runtime.kubernetes.readiness_events import readiness_events
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.snapshots.former_state import drop_former_state
from forebay.runtime.snapshots.object_store import store_settings
from forebay.runtime.spec import JobSpec, needs_of
from forebay.runtime.task.statistics import TaskFigures
from forebay.service.agreement import check_agreement
from forebay.service.renaming import actual_topics, rename
from forebay.utils.flags import Flag

log = logging.getLogger(__name__)


class _Stopped(Exception):
    pass


class JobApplication:
    """Runs a job until `stop`, or until it has reached its end offsets.

    Args:
        sessions: opens its session of Spark; None: it starts its own Spark.
    """

    def __init__(self, options: JobOptions, sessions: Sessions | None = None) -> None:
        self._options = options
        self._sessions = sessions or own_session(options.spark)
        declared = find_service(options.service)
        self._application = options.application or declared.name
        self._service = self._own_service(declared)
        self._rights = JobRights(options.kafka, self._service, self._application, (Role.RUN,))
        self._logic = parse_logic(self._service, options.logic)
        job = load_job(self._service.job)
        check_agreement(declared, job, job.settings(**self._logic))
        self.metrics = JobMetrics(self._service.name)
        self.health = Health()
        self._stopping = Flag()
        self._runner: JobRunner | None = None
        self._refused = ""
        self.reports = TaskReports(self._application, self.metrics, self.health, self._explain)

    @property
    def application(self) -> str:
        """The application id."""
        return self._application

    @property
    def home(self) -> Path | None:
        """Directory for the events of the job; None: they are not stored."""
        return self._options.home

    @property
    def kafka(self) -> KafkaSettings:
        """The connection settings."""
        return self._options.kafka

    def stop(self) -> None:
        """Ask the job to end once its running leases have; safe in a signal handler."""
        self._stopping.set()
        if self._runner is not None:
            self._runner.stop()

    def run(self) -> None:
        """Run the job. Raises JobStopped, StopJob, RegistryRefused: the job cannot continue until an operator acts."""
        options = self._options
        server = None
        if options.http_port >= 0:
            server = health_server(self.health, self.metrics.registry, options.http_host, options.http_port)
            log.info(
                "%s: http://%s:%d has /healthz, /readyz, /metrics", self._application, options.http_host, server.port
            )
        try:
            with (
                readiness_events(options.spark.executors, self.health),
                driver_lease(options.spark.executors, self.health, self._pause, self.stop),
                # After the Kubernetes Lease, because the checkpoint's file lock only shows drivers that share the
                # volume, and a checkpoint with a URL has none.
                held_checkpoint(options.plan.checkpoint),
            ):
                # Broker and registry may be unavailable while a job starts. Only mistakes that an operator has to
                # correct end the start.
                self._run(keep_trying(self._prepare, refused_for=self._refused_for, pause=self._pause))
        except _Stopped:
            log.info("%s: stopped before it started", self._application)
        finally:
            if server is not None:
                server.close()

    def _own_service(self, declared: Service) -> Service:
        """Return the service with the side topics of this application, and the broker's names of topics."""
        return rename(declared.as_application(self._application), self._options.topics)

    @property
    def _refused_for(self) -> float:
        """How long (s) to retry a refused login: forever outside a pod, because nothing restarts the job there."""
        return float("inf") if self._options.spark.executors is None else REFUSED_S

    def _end_refused(self, reason: str) -> None:
        log.error(
            "%s: %s: the driver ends, so that its next container reads the Secret again", self._application, reason
        )
        self._refused = reason
        self.stop()

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopped

    def prepare(self) -> JobSpec:
        """Check that the job can run, and return its spec, without restoring its state from changelogs.

        Raises:
            StopJob, RegistryRefused: an operator has to act. Unavailable: call it again.
        """
        options, service = self._options, self._service
        try:
            options.admit()
            matched = find_matches(options.kafka, service, self._application)
            if matched:
                service = self._service = self._own_service(find_service(options.service))
                self._rights = JobRights(options.kafka, service, self._application, (Role.RUN,))
                log.info("%s reads %s", self._application, ", ".join(topic.name for topic in service.inputs))
            # Before topics are described, because a topic without a right on it may look as if it did not exist.
            self._rights.require()
            whole = actual_topics(service.inputs, global_tables(load_job(service.job)))
            tasks = count_tasks(options.kafka, service, self._application, options.tasks, whole)
            check_topics(options.kafka, service, self._application, tasks)
            for topic, count in count_abandoned(options.kafka, self._application, load_job(service.job)).items():
                self.metrics.count_dropped(topic, count)
            warn_of_unlogged_stores(service, self._application, self._logic)
            ids = register_contracts(options.kafka, service, self._application)
            written = [topic.name for topic in service.topics(self._application)[len(service.inputs) :]]
            limits = read_topic_limits(options.kafka, written)
            check_gaps(service, options.engine.get("accept_gaps", ()))
            self._check_checkpoint()
            check_compacted_inputs(options.kafka, service, options.max_downtime_ms)
            check_broker(options.kafka, service, self._application, needs_of(options.engine))
            former = find_former(options.kafka, service, self._application, tasks)
            changelogs = [topic.name for topic in service.changelogs(self._application, tasks)]
            tombstone_ms = int(kept_seconds(options.kafka, changelogs) * 1_000)
        except Exception as error:
            self.health.failing(str(error))
            raise
        return JobSpec(
            service=service.name,
            application=self._application,
            tasks=tasks,
            groups=min(tasks, options.groups or options.spark.slots),
            kafka=options.kafka,
            logic=self._logic,
            topics=options.topics,
            schema_ids=ids,
            topic_limits=limits,
            code_version=code_version(service, self._logic),
            tombstone_ms=tombstone_ms,
            restore_only=options.restore is Restore.ONLY,
            matched=matched,
            former=former,
            checkpoint=options.plan.checkpoint,
            store_settings=store_settings(options.spark.conf),
            run=uuid.uuid4().hex[:8],
            **options.engine,
        )

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that can't hold snapshots. Raises StopJob."""
        if "://" in self._options.plan.checkpoint:
            from forebay.runtime.snapshots.files import open_files  # noqa: PLC0415 (a local job's driver needs none)

            open_files(self._options.plan.checkpoint, store_settings(self._options.spark.conf))

    def _prepare(self) -> JobSpec:
        spec = self.prepare()
        try:
            # Before any group of a running job is fenced: a job that is refused leaves them alone.
            check = check_record_formats(spec)
            restore = takes_state(self._options, self._service, self._application, spec.tasks)
            if check.reason:
                # A restore has fenced them. Without it, a group's opening refuses a new checkpoint.
                if not restore and may_be_begun(self._options.plan.checkpoint):
                    check.fence(spec)
                check = check_record_formats(spec)
            return replace(spec, restore=restore, record_layouts=check.layouts)
        except Exception as error:
            self.health.failing(str(error))
            raise

    def _run(self, spec: JobSpec) -> None:
        log.info(
            "%s: %d tasks, code %s, checkpoint %s: starting Spark",
            spec.application,
            spec.tasks,
            spec.code_version,
            self._options.plan.checkpoint,
        )
        try:
            with self._sessions(spec.application, self._options.plan.checkpoint) as session:
                self._run_in(session, spec)
        finally:
            self.reports.log(seconds=0.0)
            log.info("%s: stopped", spec.application)

    def _run_in(self, session: SparkSession, spec: JobSpec) -> None:
        executors = self._options.spark.executors
        require_slots(session.sparkContext, spec.groups)
        slots = SlotWatch.of(session.sparkContext)

        def observe(figures: list[TaskFigures], trouble: str) -> None:
            run = "" if runner.query is None else str(runner.query.runId)
            self.reports.observe(figures, trouble or slots.trouble(run), runner.placed_at)

        runner = self._runner = JobRunner(
            session,
            spec,
            self._options.plan,
            observe,
            self._on_failure,
            lambda: executors is not None and is_followed(executors),
        )
        # The stop came while Spark started, when there was no runner to pass it to.
        if self._stopping.is_set():
            return
        end = None if executors is None else self._end_refused
        watcher = Watcher(spec, self.metrics, self.health, self._rights, runner.compare_topics, end=end)
        watcher.start()
        try:
            with (
                # The JVM has its own lock, because it may survive its driver for a moment and still write to the
                # checkpoint.
                held_by_jvm(session._jvm, self._options.plan.checkpoint, self._pause),
                following_executors(session, executors, self.health, runner, self._stopping),
            ):
                keep_trying(
                    lambda: drop_former_state(self._options.plan.checkpoint, spec.store_settings), pause=self._pause
                )
                runner.run()
        finally:
            watcher.close()
        if self._refused:
            raise LoginRefused(self._refused)

    def _explain(self, trouble: str) -> str:
        return self._rights.explain(trouble)

    def _on_failure(self, cause: str) -> str:
        self.metrics.count_restart()
        explained = self._explain(cause)
        self.health.note_restart("query", explained)
        self.health.failing(explained)
        return explained
