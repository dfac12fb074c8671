"""forebay run: one service's job."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.check import checked
from forebay.cli.connection import connect, connection_options
from forebay.cli.created import create_missing
from forebay.cli.job_options import engine_fields, job_options
from forebay.cli.names import ServiceType, named
from forebay.cli.run_several import require_sharable, served, shared_engine
from forebay.kafka.patience import keep_trying
from forebay.platform.java import find_java
from forebay.renaming import actual_names
from forebay.runtime.app import JobApplication, JobOptions
from forebay.runtime.kubernetes import ExecutorPods
from forebay.runtime.logic_settings import WrongSettings
from forebay.runtime.logs import configure_logging
from forebay.runtime.query import Plan, Trigger
from forebay.runtime.restore import Restore
from forebay.runtime.session import SparkOptions
from forebay.runtime.sessions import Sessions, SharedSpark
from forebay.runtime.several import SeveralJobs
from forebay.serde.extension import missing

ENDING = {"trigger": Trigger.AVAILABLE_NOW.value}
"""The option of a job that ends by itself, for commands that don't offer it."""


@click.command(
    epilog="""\b
Examples:
  forebay run user-sessions
  forebay run user-sessions --set idle_timeout_ms=60000 --http-port 8080
  forebay run user-sessions --trigger available-now      drain what waits, then end
  forebay run user-sessions --restore                    the checkpoint may be lost: go on from the changelogs
  forebay run user-sessions --slots 2 --conf spark.ui.enabled=true
  forebay run user-sessions device-alerts                several jobs in one process and one Spark

`forebay services` lists the services, `forebay services SERVICE` the settings that --set takes."""
)
@click.argument("services", nargs=-1, required=True, type=ServiceType(), metavar="SERVICE [SERVICE]...")
@connection_options
@click.option("--restore", is_flag=True, help="If the checkpoint is missing, take the state from the changelogs.")
@click.option(
    "--check/--no-check",
    default=True,
    help="First try the logic on synthetic records, as `forebay check`; --no-check for logic that acts on the world.",
)
@click.option(
    "--create-topics/--no-create-topics",
    default=None,
    help="Make the topics that don't exist. Default: on the embedded platform only.",
)
@job_options
def run(
    services: tuple[Service, ...],
    *,
    restore: bool,
    check: bool,
    create_topics: bool | None,
    home: Path,
    **options: Any,
) -> None:
    """Run SERVICE's job until Ctrl-C or SIGTERM, which end it after the running commit.

    Of several services each job has its own checkpoint, health and end: one that fails starts again, or ends, alone.

    On another broker than the embedded one the topics must exist (`forebay topics create SERVICE`, with the same
    --application and --tasks) unless --create-topics is given. Started again it goes on where it stopped.
    """
    chosen = named({service.name: service for service in services}.values(), options["topics"])
    if len(chosen) > 1:
        require_sharable(options)
    for service in chosen if check else ():
        checked(service, options["logic"])
    if missing():
        click.echo(f"warning: {missing()}", err=True)
    wanted = Restore.IF_MISSING if restore else Restore.NO
    creating = not options["bootstrap_servers"] if create_topics is None else create_topics
    if len(chosen) == 1:
        job = application_of(chosen[0], home, options, engine_fields(options), wanted)
        if creating:
            _create(chosen[0], job, options["tasks"])
        run_until_told(job)
        return
    spark = SharedSpark(SparkOptions(1, options["memory"], options["conf"], jobs=len(chosen)))
    engine = shared_engine(engine_fields(options), len(chosen))
    own = {**options, "http_port": -1}
    jobs = [application_of(service, home, own, engine, wanted, spark.session) for service in chosen]
    for service, job in zip(chosen, jobs if creating else (), strict=False):
        _create(service, job, options["tasks"])
    with served(jobs, options["http_host"], options["http_port"]):
        run_until_told(SeveralJobs(jobs, spark.close))


def _create(service: Service, job: JobApplication, tasks: int) -> None:
    for name in keep_trying(lambda: create_missing(job.kafka, service, job.application, tasks)):
        click.echo(f"{name}: created", err=True)


def run_until_told(job: JobApplication | SeveralJobs) -> None:
    """Run a job until it ends by itself, or a signal ends it after the running commit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: job.stop())
    job.run()


def checkpoint_of(service: Service, home: Path, options: dict[str, Any]) -> str:
    """Return the path or URL of the job's checkpoint."""
    application = options["application"] or service.name
    return options["checkpoint"] or str((home / "checkpoints" / application).resolve())


def application_of(
    service: Service,
    home: Path,
    options: dict[str, Any],
    engine: dict[str, Any],
    restore: Restore = Restore.NO,
    sessions: Sessions | None = None,
) -> JobApplication:
    """Return the job that the command line's options describe; `engine` holds fields of its JobSpec.

    Raises:
        click.UsageError: a setting of the logic is wrong, or options don't fit each other; says which.
    """
    configure_logging(options["log_format"])
    find_java()
    connection = {name: options[name] for name in ("bootstrap_servers", "schema_registry_url", "kafka_options")}
    application = options["application"] or service.name
    executors = _executors(options)
    chosen = JobOptions(
        service=service.name,
        topics=actual_names((*service.inputs, *service.outputs)),
        kafka=connect(home=home, **connection),
        plan=Plan(checkpoint_of(service, home, options), Trigger(options["trigger"])),
        application=application,
        tasks=options["tasks"],
        groups=_groups(options, executors),
        logic=options["logic"],
        engine=engine,
        spark=SparkOptions(options["slots"], options["memory"], options["conf"], executors),
        restore=restore,
        max_downtime_ms=options["max_downtime_ms"],
        http_host=options["http_host"],
        http_port=options["http_port"],
    )
    try:
        return JobApplication(chosen, sessions)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error


def _groups(options: dict[str, Any], executors: ExecutorPods | None) -> int:
    groups, slots = int(options["groups"]), options["slots"]
    if executors is not None:
        return groups or sys.maxsize
    if groups > slots:
        raise click.UsageError(
            f"--groups {groups} needs --slots {groups}: a group keeps its slot for as long as its lease lasts"
        )
    return groups


def _executors(options: dict[str, Any]) -> ExecutorPods | None:
    name, secret = options["executors"], options["spark_secret"]
    if name:
        return ExecutorPods.of_this_pod(name, options["driver_host"], secret)
    if secret is not None:
        raise click.UsageError("--spark-secret is for --executors")
    return None
