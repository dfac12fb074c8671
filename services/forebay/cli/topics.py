"""forebay topics: create and describe the topics of services."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from forebay.catalog import Service, Topic, all_services
from forebay.cli.connection import connect, connection_options
from forebay.cli.lazy import CommandGroup
from forebay.cli.names import rename_topics, services_argument, topics_option
from forebay.cli.options import json_option
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import BROKER_DEFAULT, TopicDescription, differences, spec_of

Command = TypeVar("Command", bound=Callable[..., Any])

_JOB_OPTIONS = (
    click.option("--application", default="", help="Application id of the job; for one SERVICE. Default: SERVICE."),
    click.option(
        "--tasks",
        type=click.IntRange(min=1),
        help="State tasks of the job: partitions of its changelogs. Default: as many as the first input has.",
    ),
    topics_option,
)


def _options(command: Command) -> Command:
    for option in reversed((services_argument, *_JOB_OPTIONS)):
        command = option(command)
    return connection_options(command)


@click.group(cls=CommandGroup)
def topics() -> None:
    """Create and describe the services' topics: inputs, outputs, errors, late records, changelogs.

    The services declare names, partitions and configuration. Default: the topics of all services.
    """


@topics.command(
    epilog="""\b
Examples:
  forebay topics create
  forebay topics create user-sessions --replication-factor 3
  forebay topics create user-sessions --application staging --tasks 2"""
)
@_options
@click.option(
    "--replication-factor",
    type=click.IntRange(1, 32767),
    help="Copies of each partition. Default: the broker's default.",
)
def create(
    services: tuple[Service, ...],
    application: str,
    tasks: int | None,
    topics: dict[str, str],
    replication_factor: int | None,
    **connection: Any,
) -> None:
    """Create topics that don't exist. Existing ones are compared: a difference is an error, nothing is changed.

    An input that exists belongs to its producers: only its number of partitions is compared.
    """
    declared = _declare(services, application, tasks, topics)
    admin = TopicAdmin(connect(**connection))
    inputs = _inputs(services, topics)
    specs = [spec_of(topic, replication_factor or BROKER_DEFAULT, is_input=topic.name in inputs) for topic in declared]
    existing = admin.describe(topic.name for topic in declared)
    created = set(admin.create(specs))
    for spec in specs:
        state = "created" if spec.name in created else "exists" if spec.name in existing else "created by another"
        click.echo(f"{spec.name}: {state}, {_count(spec.partitions)}")


@topics.command(
    epilog="""\b
Examples:
  forebay topics describe
  forebay topics describe user-sessions
  forebay topics describe --json | jq '.[] | select(.differences != [])'"""
)
@_options
@json_option
def describe(
    services: tuple[Service, ...],
    application: str,
    tasks: int | None,
    topics: dict[str, str],
    as_json: bool,
    **connection: Any,
) -> None:
    """Show existing topics and their differences from the declaration: partitions, replicas, id, configuration."""
    declared = _declare(services, application, tasks, topics)
    admin = TopicAdmin(connect(**connection))
    existing = admin.describe(topic.name for topic in declared)
    if as_json:
        click.echo(json.dumps([_facts(topic, existing.get(topic.name)) for topic in declared], indent=2))
        return
    for topic in declared:
        click.echo("\n".join(_lines(topic, existing.get(topic.name))))


def _declare(services: tuple[Service, ...], application: str, tasks: int | None, topics: dict[str, str]) -> list[Topic]:
    chosen = rename_topics(services or all_services().values(), topics)
    if application and len(chosen) > 1:
        raise click.UsageError("--application is the id of one job: name exactly one service")
    return list({topic.name: topic for service in chosen for topic in service.topics(application, tasks or 0)}.values())


def _inputs(services: tuple[Service, ...], topics: dict[str, str]) -> set[str]:
    """Return the input topics that none of the services writes."""
    chosen = rename_topics(services or all_services().values(), topics)
    written = {topic.name for service in chosen for topic in service.outputs}
    return {topic.name for service in chosen for topic in service.inputs} - written


def _facts(declared: Topic, existing: TopicDescription | None) -> dict[str, Any]:
    if existing is None:
        return {"name": declared.name, "exists": False}
    return {
        "name": existing.name,
        "exists": True,
        "topic_id": existing.topic_id,
        "partitions": existing.partitions,
        "replication_factor": existing.replication_factor,
        "config": {name: existing.config[name] for name in sorted(existing.own)},
        "differences": [
            {
                "what": difference.what,
                "declared": difference.declared,
                "existing": difference.existing,
                "remedy": difference.remedy,
            }
            for difference in differences(spec_of(declared), existing)
        ],
    }


def _lines(declared: Topic, existing: TopicDescription | None) -> list[str]:
    if existing is None:
        return [f"{declared.name}: does not exist; `forebay topics create` creates it"]
    copies = f"{existing.replication_factor} {'copy' if existing.replication_factor == 1 else 'copies'}"
    config = " ".join(f"{name}={existing.config[name]}" for name in sorted(existing.own))
    return [
        f"{existing.name}: {_count(existing.partitions)}, {copies}, id {existing.topic_id}, {config or 'defaults'}",
        *(
            f"  {difference.what} is {difference.existing}, should be {difference.declared}; {difference.remedy}"
            for difference in differences(spec_of(declared), existing)
        ),
    ]


def _count(partitions: int) -> str:
    return f"{partitions} partition" if partitions == 1 else f"{partitions} partitions"
