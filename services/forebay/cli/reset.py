"""forebay reset: forget what a job knows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from forebay.catalog import SERVICES, find_service
from forebay.cli.connection import connect, connection_options
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import spec_of

_GONE = ("GROUP_ID_NOT_FOUND", "INVALID_GROUP_ID")


@click.command(
    epilog="""\b
Examples:
  forebay reset user-sessions
  forebay reset user-sessions --outputs --yes"""
)
@click.argument("service", type=click.Choice(list(SERVICES)))
@connection_options
@click.option("--application", help="Application id. Default: SERVICE.")
@click.option("--checkpoint", help="The job's checkpoint directory. Default: <home>/checkpoints/<application>.")
@click.option("--outputs", is_flag=True, help="Empty the output, error and late topics too.")
@click.option("--yes", is_flag=True, help="Don't ask.")
def reset(
    service: str,
    home: Path,
    application: str | None,
    checkpoint: str | None,
    outputs: bool,
    yes: bool,
    **connection: Any,
) -> None:
    """Delete SERVICE's checkpoint, changelogs and markers: its job starts over from its input. Stop the job first."""
    settings = connect(home=home, **connection)
    entry, app = find_service(service), application or service
    place = checkpoint or str(home / "checkpoints" / app)
    if "://" in place:
        raise click.UsageError(
            f"{place} is not on this machine: delete it yourself, then give --checkpoint a local path"
        )
    admin = TopicAdmin(settings)
    declared = [*entry.changelogs(app, entry.inputs[0].partitions)]
    if outputs:
        declared += [entry.output, entry.errors, entry.late]
    found = admin.describe(topic.name for topic in declared)
    click.echo(f"deletes the checkpoint {place}")
    click.echo(f"deletes the groups {app} and {app}-marker")
    for name in found:
        click.echo(f"empties the topic {name}")
    if not yes:
        click.confirm("Go on?", abort=True)
    client = AdminClient(settings.admin())
    for name, future in client.delete_consumer_groups([app, f"{app}-marker"]).items():
        try:
            future.result(30.0)
        except KafkaException as error:
            if error.args[0].name() not in _GONE:
                raise click.ClickException(f"can't delete the group {name}: {error}: is the job stopped?") from error
    admin.delete(found)
    admin.create(spec_of(topic) for topic in declared if topic.name in found)
    shutil.rmtree(place, ignore_errors=True)
    click.echo(f"{service} starts over at its next run")
