"""forebay topics: create and describe what the table of services declares."""

from __future__ import annotations

from typing import Any

import click

from forebay.catalog import SERVICES, Service, Topic
from forebay.cli.connection import connect, connection_options
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.topics import BROKER_DEFAULT, TopicDescription, differences, spec_of

_services = click.argument("services", nargs=-1, type=click.Choice(list(SERVICES)), metavar="[SERVICE]...")


@click.group()
def topics() -> None:
    """Create and describe the services' topics: inputs, output, errors, late records, changelogs.

    Names, partitions and configuration come from the table of services. Without SERVICE: those of all.
    """


@topics.command(
    epilog="""\b
Examples:
  forebay topics create
  forebay topics create user-sessions --replication-factor 3"""
)
@_services
@click.option(
    "--replication-factor",
    type=click.IntRange(1, 32767),
    help="Copies of each partition. Default: the broker's default.",
)
@connection_options
def create(services: tuple[str, ...], replication_factor: int | None, **connection: Any) -> None:
    """Create topics that don't exist. Existing ones are compared: a difference is an error, nothing is changed."""
    admin = TopicAdmin(connect(**connection))
    declared = _topics(services)
    specs = [spec_of(topic, replication_factor or BROKER_DEFAULT) for topic in declared]
    existing = admin.describe(topic.name for topic in declared)
    created = set(admin.create(specs))
    for spec in specs:
        state = "created" if spec.name in created else "exists" if spec.name in existing else "created by another"
        click.echo(f"{spec.name}: {state}, {_count(spec.partitions)}")


@topics.command(
    epilog="""\b
Examples:
  forebay topics describe
  forebay topics describe user-sessions"""
)
@_services
@connection_options
def describe(services: tuple[str, ...], **connection: Any) -> None:
    """Show topics as they are: partitions, copies, id, configuration; and where they are not as declared."""
    admin = TopicAdmin(connect(**connection))
    declared = _topics(services)
    existing = admin.describe(topic.name for topic in declared)
    for topic in declared:
        click.echo("\n".join(_lines(topic, existing.get(topic.name))))


def _topics(names: tuple[str, ...]) -> list[Topic]:
    chosen: list[Service] = [SERVICES[name] for name in names or SERVICES]
    return list({topic.name: topic for service in chosen for topic in service.topics()}.values())


def _lines(declared: Topic, existing: TopicDescription | None) -> list[str]:
    if existing is None:
        return [f"{declared.name}: does not exist; `forebay topics create` makes it"]
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
