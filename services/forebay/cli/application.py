"""Functions that create jobs from command-line options and run them until a signal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.assertions import check_assertions
from forebay.cli.check import try_service
from forebay.cli.connection import connect
from forebay.cli.initial_inserts import send_inserted
from forebay.cli.job_options import engine_fields
from forebay.cli.names import application_names, rename_topics
from forebay.cli.run_several import require_sharable, serve, shared_engine
from forebay.cli.spark_options import spark_options
from forebay.cli.topic_creation import create_missing
from forebay.kafka.retrying import keep_trying
from forebay.live.names import check_name
from forebay.platform.java import find_java
from forebay.runtime.driver.app import JobApplication
from forebay.runtime.driver.job_options import JobOptions
from forebay.runtime.driver.logic_settings import WrongSettings
from forebay.runtime.driver.plan import Plan, Trigger
from forebay.runtime.driver.restore import Restore
from forebay.runtime.driver.sessions import Sessions, SharedSpark
from forebay.runtime.driver.several import SeveralJobs
from forebay.runtime.observability.event_file import record_events
from forebay.runtime.process.log_files import keep_log
from forebay.runtime.process.logs import configure_logging
from forebay.service.renaming import actual_names
from forebay.utils.native import missing

ENDING = {"trigger": Trigger.AVAILABLE_NOW.value}
"""The --trigger of a job that ends by itself, for commands that don't have that option."""


def run_services(
    services: Collection[Service],
    home: Path,
    options: dict[str, Any],
    *,
    restore: bool,
    check: bool,
    create: bool | None,
) -> None:
    """Run one job for each service, as `forebay run` does with these options.

    Args:
        create: whether to create missing topics; None: only on the embedded platform.
    """
    chosen = rename_topics(services, options["topics"])
    if len(chosen) > 1:
        require_sharable(options)
    for service in services if check else ():
        try_service(service, options["logic"])
    keep_log(home, application_names(chosen, options))
    if missing():
        click.echo(f"warning: {missing()}", err=True)
    restore_mode = Restore.IF_MISSING if restore else Restore.NO
    creating = not options["bootstrap_servers"] if create is None else create
    if len(chosen) == 1:
        job = application_of(chosen[0], home, options, engine_fields(options), restore_mode)
        if creating:
            _create(chosen[0], job, options)
        run_until_told(job)
        return
    spark = SharedSpark(spark_options(options, len(chosen)))
    engine = shared_engine(engine_fields(options), len(chosen))
    own = {**options, "http_port": -1}
    jobs = [application_of(service, home, own, engine, restore_mode, spark.session) for service in chosen]
    for service, job in zip(chosen, jobs if creating else (), strict=False):
        _create(service, job, options)
    with serve(jobs, options["http_host"], options["http_port"]):
        run_until_told(SeveralJobs(jobs, spark.close))


def create_topics(service: Service, job: JobApplication, options: dict[str, Any]) -> None:
    """Create the missing topics of a job."""
    keep_trying(lambda: check_assertions(job.kafka, service))
    topic_options = options["tasks"], options["max_downtime_ms"]
    for name in keep_trying(lambda: create_missing(job.kafka, service, job.application, *topic_options)):
        click.echo(f"{name}: created", err=True)


def _create(service: Service, job: JobApplication, options: dict[str, Any]) -> None:
    create_topics(service, job, options)
    for name, count in keep_trying(lambda: send_inserted(job.kafka, service)).items():
        click.echo(f"{name}: {count} records of INSERT INTO ... VALUES sent", err=True)


def run_until_told(job: JobApplication | SeveralJobs) -> None:
    """Run a job until it ends by itself, or until SIGINT or SIGTERM stops it after the current commit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: job.stop())
    jobs = job.jobs if isinstance(job, SeveralJobs) else [job]
    with record_events([item for item in jobs if isinstance(item, JobApplication)]):
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
    """Create the job that the command-line options describe. `engine` contains fields of its JobSpec.

    Raises:
        click.UsageError: a setting of the logic is wrong, or two options conflict.
    """
    configure_logging(options["log_format"])
    find_java()
    connection = {name: options[name] for name in ("bootstrap_servers", "schema_registry_url", "kafka_options")}
    application = options["application"] or service.name
    kafka = connect(home=home, **connection)
    chosen = JobOptions(
        service=service.name,
        topics=actual_names((*service.inputs, *service.outputs)),
        kafka=kafka,
        plan=Plan(checkpoint_of(service, home, options), Trigger(options["trigger"])),
        application=application,
        tasks=options["tasks"],
        groups=_groups(options),
        logic=options["logic"],
        engine=engine,
        spark=spark_options(options),
        restore=restore,
        max_downtime_ms=options["max_downtime_ms"],
        http_host=options["http_host"],
        http_port=options["http_port"],
        home=home,
        admit=partial(check_name, kafka, service, application),
    )
    try:
        return JobApplication(chosen, sessions)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error


def _groups(options: dict[str, Any]) -> int:
    groups, slots = int(options["groups"]), options["slots"]
    if options["executors"]:
        return groups or sys.maxsize
    if groups > slots:
        raise click.UsageError(f"--groups {groups} needs --slots {groups}: each group occupies a slot while it runs")
    return groups
