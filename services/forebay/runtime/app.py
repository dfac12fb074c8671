"""One service's job as a process: prepare, run, report, end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from py4j.protocol import Py4JError

from forebay.catalog import Service, find_service
from forebay.job import load_job
from forebay.kafka.acls import Role
from forebay.kafka.patience import keep_trying
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.batch import TaskReport
from forebay.runtime.checkpoint import held_checkpoint, is_begun
from forebay.runtime.compacted_inputs import check_compacted_inputs
from forebay.runtime.errors import StopJob
from forebay.runtime.health import Health, health_server
from forebay.runtime.interrupt import kept_interrupt
from forebay.runtime.jvmlock import held_by_jvm
from forebay.runtime.jvmlog import quiet_children
from forebay.runtime.kubernetes_members import following_executors
from forebay.runtime.metrics import JobMetrics
from forebay.runtime.planner import Limits, limits_for
from forebay.runtime.positions import committed_positions
from forebay.runtime.prepare import check_topics, code_version, count_tasks, register_contracts
from forebay.runtime.query import JobRunner, Plan
from forebay.runtime.restore import Restore, RestorePoint, restore_point
from forebay.runtime.rights import JobRights
from forebay.runtime.runnable import check_runnable
from forebay.runtime.session import SparkOptions, build_session
from forebay.runtime.spec import JobSpec
from forebay.runtime.watch import Watcher

log = logging.getLogger(__name__)


class WrongSettings(ValueError):
    """A setting of the logic that does not exist or makes no sense; names those there are."""


class _Stopped(Exception):
    pass


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What an operator chooses for a job; `engine` holds fields of JobSpec.

    Args:
        service: name in the table of services.
        application: "" for the service's name.
        tasks: 0 for as many as the input has partitions.
        state_partitions: 0 for as many as Spark has slots.
        restore: whether to take the state from the changelogs.
        accept_loss: whether to do so although records between two stages are lost.
        max_downtime_ms: longest downtime to survive with compacted inputs; 0: they are not looked at.
        http_host, http_port: where health and metrics are served; port 0 takes a free one, -1 serves none.
    """

    service: str
    kafka: KafkaSettings
    plan: Plan
    application: str = ""
    tasks: int = 0
    state_partitions: int = 0
    logic: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    spark: SparkOptions = field(default_factory=SparkOptions)
    restore: Restore = Restore.NO
    accept_loss: bool = False
    max_downtime_ms: int = 86_400_000
    http_host: str = "127.0.0.1"
    http_port: int = -1


class JobApplication:
    """Runs a job until `stop`, or until it has read what there was."""

    def __init__(self, options: JobOptions) -> None:
        self._options = options
        self._service: Service = find_service(options.service)
        self._application = options.application or self._service.name
        roles = (Role.RUN,) if options.restore is Restore.NO else (Role.RUN, Role.RESTORE)
        self._rights = JobRights(options.kafka, self._service, self._application, roles)
        self._logic = parse_logic(self._service, options.logic)
        self.metrics = JobMetrics(self._service.name)
        self.health = Health()
        self._stopping = threading.Event()
        self._runner: JobRunner | None = None
        self.conversions: list[tuple[str, str]] = []
        """What was done to stores that are declared otherwise now: task, text."""
        self.restored: list[TaskReport] = []
        """Reports of the batch that took the state from the changelogs."""

    @property
    def kafka(self) -> KafkaSettings:
        """Give the connection settings."""
        return self._options.kafka

    def stop(self) -> None:
        """Ask the job to end once its running batch is through; safe in a signal handler."""
        self._stopping.set()
        if self._runner is not None:
            self._runner.stop()

    def run(self) -> None:
        """Run the job. Raises JobStopped, StopJob, RegistryRefused: nothing goes on until somebody acts."""
        options = self._options
        server = None
        if options.http_port >= 0:
            server = health_server(self.health, self.metrics.registry, options.http_host, options.http_port)
            log.info(
                "%s: http://%s:%d has /healthz, /readyz, /metrics", self._application, options.http_host, server.port
            )
        try:
            with held_checkpoint(options.plan.checkpoint):
                self._run(keep_trying(self._prepare, pause=self._pause))
        except _Stopped:
            log.info("%s: stopped before it started", self._application)
        finally:
            if server is not None:
                server.close()

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopped

    def _prepare(self) -> JobSpec:
        options, service = self._options, self._service
        try:
            self._rights.require()
            tasks = count_tasks(options.kafka, service, self._application, options.tasks)
            check_topics(options.kafka, service, self._application, tasks)
            ids = register_contracts(options.kafka, service, self._application)
            check_compacted_inputs(options.kafka, service, options.max_downtime_ms)
            point = self._restore_point(tasks)
        except Exception as error:
            self.health.failing(str(error))
            raise
        job = load_job(service.job)
        check_runnable(job, tasks)
        engine = dict(options.engine)
        engine["limits"] = limits_for(engine.get("limits", Limits()), job.processor(job.settings(**self._logic)).idle)
        return JobSpec(
            service=service.name,
            application=self._application,
            tasks=tasks,
            state_partitions=min(tasks, options.state_partitions or options.spark.slots),
            kafka=options.kafka,
            logic=self._logic,
            schema_ids=ids,
            code_version=code_version(service, self._logic),
            restore=point,
            restore_only=options.restore is Restore.ONLY,
            **engine,
        )

    def _restore_point(self, tasks: int) -> RestorePoint | None:
        options, checkpoint = self._options, self._options.plan.checkpoint
        if options.restore is Restore.NO:
            return None
        if is_begun(checkpoint):
            if options.restore is Restore.IF_MISSING:
                return None
            raise StopJob(
                f"{checkpoint} holds a checkpoint: `forebay run` goes on from it. If it is damaged, move it away first"
            )
        point = restore_point(committed_positions(options.kafka, self._service, self._application, tasks))
        if point is None and options.restore is Restore.ONLY:
            raise StopJob(f"{self._application} never committed anything: there is no state to restore; run the job")
        if point is not None and point.lost and not options.accept_loss:
            lost = ", ".join(f"{self._application}-{stage}-{task}" for stage, task in point.lost)
            raise StopJob(
                f"batch {point.batch} was committed by one stage but not by the next: what {lost} were handed in it "
                "can't be read again. Put the checkpoint back; or restore with --accept-loss, without those records"
            )
        return point

    def _run(self, spec: JobSpec) -> None:
        log.info(
            "%s: %d tasks, code %s, checkpoint %s: starting Spark",
            spec.application,
            spec.tasks,
            spec.code_version,
            self._options.plan.checkpoint,
        )
        with quiet_children(), kept_interrupt():
            session = build_session(
                spec.application, spec.state_partitions, self._options.plan.checkpoint, self._options.spark
            )
        try:
            runner = self._runner = JobRunner(session, spec, self._options.plan, self._observe, self._failed)
            if self._stopping.is_set():
                return
            executors = self._options.spark.executors
            watcher = Watcher(spec, runner, self.metrics, self.health, self._rights)
            watcher.start()
            try:
                with (
                    held_by_jvm(session._jvm, self._options.plan.checkpoint, self._pause),
                    following_executors(session, executors, self.health, runner, self._stopping),
                ):
                    runner.run()
            finally:
                watcher.close()
        finally:
            with suppress(Py4JError, OSError):
                session.stop()
            log.info("%s: stopped", spec.application)

    def _failed(self, cause: str) -> str:
        self.metrics.restarted()
        explained = self._rights.explain(cause)
        self.health.failing(explained)
        return explained

    def _observe(self, batch_id: int, seconds: float, reports: list[TaskReport]) -> None:
        self.metrics.observe(seconds, reports)
        self.health.batch_done()
        for report in reports:
            task = f"{self._application}-{report.stage}-{report.task}"
            self.conversions.extend((task, conversion) for conversion in report.conversions)
            if report.step == "restore":
                self.restored.append(report)
        if all(report.step == "idle" for report in reports):
            return
        facts = summary(batch_id, seconds, reports)
        log.info("%s: %s", self._application, as_text(facts), extra={"facts": facts})


def summary(batch_id: int, seconds: float, reports: list[TaskReport]) -> dict[str, Any]:
    """Give a batch's figures over all its tasks."""
    sent = [report for report in reports if report.step == "produce"]
    return {
        "batch": max(report.batch for report in reports),
        "spark_batch": batch_id,
        "seconds": round(seconds, 3),
        "records_in": sum(sum(report.records_in.values()) for report in reports if report.stage == 0),
        "records_out": sum(report.outputs for report in sent),
        "errors": sum(report.errors for report in sent),
        "late": sum(report.late for report in sent),
        "duplicates": sum(report.duplicates for report in reports),
        "timers_fired": sum(report.timers_fired for report in reports),
        "state_rows": sum(report.state_rows for report in reports),
        "state_bytes": sum(report.state_bytes for report in reports),
        "replayed_tasks": sum(report.step == "suppress" for report in reports),
        "restored_tasks": sum(report.step == "restore" for report in reports),
    }


def as_text(facts: Mapping[str, Any]) -> str:
    """Give a batch's figures as a line for people; what is zero is left out."""
    always = f"batch {facts['batch']}: {facts['records_in']} in, {facts['records_out']} out, {facts['seconds']:.2f} s"
    names = ("errors", "late", "duplicates", "timers_fired", "replayed_tasks", "restored_tasks")
    rest = "".join(f", {facts[name]} {name.replace('_', ' ')}" for name in names if facts[name])
    return f"{always}{rest}, state {facts['state_rows']} rows"


def parse_logic(service: Service, given: Mapping[str, str]) -> dict[str, Any]:
    """Give the logic's settings from text. Raises WrongSettings."""
    kind = load_job(service.job).settings
    defaults = kind()
    names = list(kind.__dataclass_fields__)
    parsed: dict[str, Any] = {}
    for name, text in given.items():
        if name not in names:
            known = f"choose from {', '.join(names)}" if names else "it has none"
            raise WrongSettings(f"{service.name} has no setting {name!r}: {known}")
        wanted = type(getattr(defaults, name))
        try:
            parsed[name] = wanted(text)
        except ValueError as error:
            raise WrongSettings(f"{name}={text} is not {_described(wanted)}") from error
    try:
        kind(**parsed)
    except ValueError as error:
        raise WrongSettings(str(error)) from error
    return parsed


def _described(kind: type[Any]) -> str:
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(member.value) for member in kind)}"
    return f"of type {kind.__name__}"
