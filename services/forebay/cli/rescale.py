"""forebay rescale: change a job's number of state tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from math import gcd
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.application import ENDING, application_of, checkpoint_of, run_until_told
from forebay.cli.connection import connect, connection_options
from forebay.cli.job_options import ending_job_options, engine_fields
from forebay.cli.names import rename_topics, service_argument
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.identities import rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.driver.checkpoint import held_checkpoint, is_begun, set_aside
from forebay.runtime.driver.logic_settings import WrongSettings, parse_logic
from forebay.runtime.driver.restore import Restore
from forebay.runtime.maintenance.rescale import Rescale
from forebay.runtime.maintenance.staging import is_staged
from forebay.stores.spread import NotSpreadable


@click.command(
    epilog="""\b
Examples:
  forebay rescale user-sessions --tasks 8
  forebay rescale user-sessions --tasks 3        every input needs a multiple of 3 partitions"""
)
@service_argument
@connection_options
@ending_job_options
def rescale(service: Service, home: Path, **options: Any) -> None:
    """Redistribute the state of SERVICE's job over another number of tasks (--tasks), then end.

    Stop the job first, and use the same options as for `forebay run`. The command processes all pending records,
    rewrites the changelogs, and creates a checkpoint from them; the old checkpoint is renamed. Stream time and timers
    are kept. If tasks are merged, the latest stream time applies, and results that are final by then are sent first. If
    the command is interrupted, run it again: it resumes.
    """
    (service,) = rename_topics((service,), options["topics"])
    kafka, application = _connect(home, options), options["application"] or service.name
    tasks, checkpoint = options["tasks"], checkpoint_of(service, home, options)
    if not tasks:
        raise click.UsageError("specify the new number of tasks with --tasks")
    try:
        logic = parse_logic(service, options["logic"])
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error
    # The internal changelog has one partition per task, so its partitions are the former number of tasks.
    before = _partitions(kafka, [internal_topic(application, 0)]).get(internal_topic(application, 0), tasks)
    work = Rescale(kafka, service, application, logic, before, tasks)
    going_on = _partitions(kafka, [rescale_topic(application)]).get(rescale_topic(application), 0)
    if not going_on or not is_staged(kafka, rescale_topic(application)):
        if before == tasks:
            _restore(service, home, options, checkpoint, f"{application} has {tasks} tasks")
            return
        _check_inputs(kafka, service, tasks)
        work.begin()
        _drain(service, home, options, before)
        with held_checkpoint(checkpoint):
            try:
                click.echo(f"{work.stage()} records of {before} tasks staged for {tasks}")
            except NotSpreadable as error:
                raise click.ClickException(f"{error}; nothing was changed") from error
    # The staged rows are spread over the number of tasks of the first attempt.
    elif going_on != tasks:
        raise click.ClickException(
            f"a change to {going_on} tasks is not complete: run the command with `--tasks {going_on}` first"
        )
    with held_checkpoint(checkpoint):
        aside = set_aside(checkpoint)
        if aside:
            click.echo(f"the old checkpoint was renamed to {aside}")
        click.echo(f"{work.publish()} records written to the changelogs")
    _restore(service, home, options, checkpoint, f"{application} has {tasks} tasks now")


def _connect(home: Path, options: dict[str, Any]) -> KafkaSettings:
    connection = {name: options[name] for name in ("bootstrap_servers", "schema_registry_url", "kafka_options")}
    return connect(home=home, **connection)


def _partitions(kafka: KafkaSettings, topics: Iterable[str]) -> dict[str, int]:
    return {name: topic.partitions for name, topic in TopicAdmin(kafka).describe(topics).items()}


def _check_inputs(kafka: KafkaSettings, service: Service, tasks: int) -> None:
    for name, partitions in _partitions(kafka, (topic.name for topic in service.inputs)).items():
        if partitions % tasks:
            raise click.ClickException(
                f"{name} has {partitions} partitions, not a multiple of {tasks} tasks: add partitions up to a "
                f"multiple of both ({partitions * tasks // gcd(partitions, tasks)}), wait until all producers "
                "know them "
                "(metadata.max.age.ms), then rescale"
            )


def _drain(service: Service, home: Path, options: dict[str, Any], before: int) -> None:
    engine = engine_fields(options)
    # If the new number is a multiple, each old task is only split and keeps its stream time. Otherwise tasks are joined
    # and need one common time.
    joined = options["tasks"] % before != 0
    engine["align"] = joined
    if joined:
        engine["limits"] = dataclasses.replace(engine["limits"], idle=False)
    run_until_told(application_of(service, home, {**options, **ENDING, "tasks": before}, engine, Restore.IF_MISSING))


def _restore(service: Service, home: Path, options: dict[str, Any], checkpoint: str, done: str) -> None:
    if not is_begun(checkpoint):
        run_until_told(application_of(service, home, {**options, **ENDING}, engine_fields(options), Restore.ONLY))
    click.echo(f"{done}: `forebay run {service.name}` continues")
