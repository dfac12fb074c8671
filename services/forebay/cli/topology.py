"""forebay topology: print the topology of a service's job."""

from __future__ import annotations

from enum import Enum

import click

from forebay.builder.description import picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service
from forebay.cli.names import ServiceType
from forebay.job import load_job


class Format(Enum):
    """How a topology is printed."""

    TEXT = "text"
    MERMAID = "mermaid"


@click.command(
    epilog="""\b
Examples:
  forebay topology price-join
  forebay topology menu-votes --format mermaid > menu-votes.mmd"""
)
@click.argument("service", type=ServiceType())
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in Format]),
    default=Format.TEXT.value,
    help="text, or a flow chart in Mermaid's language.",
)
@click.option("--application", help="Application id, the prefix of the changelogs' names. Default: the service's name.")
def topology(service: Service, form: str, application: str | None) -> None:
    """Print a service's sub-topologies, nodes, stores, repartition topics, outputs and changelogs.

    If the service is written with processors, each sub-topology has one node, and the last one shows the outputs.
    """
    service.topics(application or "")  # refuses an id whose topics Kafka would not take
    picture = picture_of(service, load_job(service.job), application or "")
    click.echo(as_mermaid(picture) if Format(form) is Format.MERMAID else as_text(picture))
