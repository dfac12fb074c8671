"""forebay reset: delete a job's state."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service, Topic
from forebay.cli.connection import connect, connection_options
from forebay.cli.names import rename_topics, service_argument, topics_option
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused
from forebay.kafka.groups import delete_groups
from forebay.kafka.identities import control_group, marker_group, rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription, spec_of
from forebay.runtime.changelog.topics import former_topics
from forebay.runtime.driver.checkpoint import held_checkpoint
from forebay.runtime.driver.running import refuse_running


@click.command(
    epilog="""\b
Examples:
  forebay reset user-sessions
  forebay reset user-sessions --outputs --yes
  forebay reset user-sessions --tasks 2          with another number of tasks from now on
  forebay reset user-sessions --delete           deletes the topics: the job will not run again"""
)
@service_argument
@connection_options
@topics_option
@click.option("--application", help="Application id. Default: SERVICE.")
@click.option("--checkpoint", help="The job's checkpoint directory. Default: <home>/checkpoints/<application>.")
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    help="New number of state tasks and of the changelogs' partitions. Default: unchanged.",
)
@click.option("--outputs", is_flag=True, help="Empty the output, error and late topics too.")
@click.option("--delete", is_flag=True, help="Delete the topics instead of emptying them. Inputs stay.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def reset(
    service: Service,
    home: Path,
    application: str | None,
    checkpoint: str | None,
    tasks: int | None,
    outputs: bool,
    delete: bool,
    yes: bool,
    topics: dict[str, str],
    **connection: Any,
) -> None:
    """Delete the state of SERVICE's job, so that it starts over: its checkpoint, internal topics and offsets.

    Stop the job first. The command is refused while the job holds its checkpoint or commits. An idle job whose
    checkpoint is on another machine is not detected.
    """
    if delete and tasks:
        raise click.UsageError("--delete deletes the topics, so --tasks has no effect: remove one of the two options")
    (service,) = rename_topics((service,), topics)
    settings = connect(home=home, **connection)
    app = application or service.name
    place = checkpoint or str(home / "checkpoints" / app)
    if "://" in place:
        raise click.UsageError(
            f"{place} is not on this machine: delete it yourself, then use --checkpoint with a local path"
        )
    with held_checkpoint(place):
        refuse_running(settings, app, service.stages)
        _reset(settings, service, app, Path(place), tasks or 0, outputs, delete, yes)
    click.echo(f"{app} is deleted" if delete else f"{app} starts over at its next run")


def _reset(
    settings: KafkaSettings,
    service: Service,
    app: str,
    place: Path,
    tasks: int,
    outputs: bool,
    delete: bool,
    yes: bool,
) -> None:
    admin = TopicAdmin(settings)
    service = service.as_application(app)
    changelogs = service.own_topics(app, tasks or service.inputs[0].partitions)
    others = (*service.outputs, service.errors, service.late) if outputs else ()
    topics = admin.describe([*(topic.name for topic in (*changelogs, *others)), rescale_topic(app)])
    click.echo(f"deletes the checkpoint {place}")
    click.echo(f"deletes the groups {control_group(app)} and {marker_group(app)}")
    former = former_topics(app, service.stages, admin.names())
    for name in topics:
        click.echo(f"{'deletes' if delete else 'empties'} the topic {name}")
    for name in former:
        click.echo(f"deletes the topic {name}: the job no longer has its sub-topology")
    if not yes:
        click.confirm("Continue?", abort=True)
    try:
        delete_groups(settings, (control_group(app), marker_group(app)))
    except KafkaRefused as error:
        raise click.ClickException(f"{error}: stop the job first") from error
    # Groups go first. If a job still runs, the broker refuses to delete its group, and no topic has been touched.
    admin.delete([*topics, *former])
    if not delete:
        recreated = [*(changelogs if tasks else _as_found(changelogs, topics)), *_as_found(others, topics)]
        admin.create(spec_of(topic) for topic in recreated if topic.name in topics)
    shutil.rmtree(place, ignore_errors=True)


def _as_found(topics: tuple[Topic, ...], found: Mapping[str, TopicDescription]) -> list[Topic]:
    """Return the topics that exist, with their existing number of partitions."""
    return [
        dataclasses.replace(topic, partitions=found[topic.name].partitions) for topic in topics if topic.name in found
    ]
