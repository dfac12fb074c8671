"""forebay up: start the embedded platform."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from forebay.cli.options import home_option
from forebay.platform import Platform, Ports
from forebay.platform.progress import progress_for

_PORT = click.IntRange(1, 65535)


@click.command(
    epilog="""\b
Examples:
  forebay up
  forebay up --broker-port 9092 --registry-port 8081
  FOREBAY_HOME=/data/forebay forebay up"""
)
@home_option
@click.option("--broker-port", type=_PORT, help="The broker's port. Default: the last start's, or a free port.")
@click.option("--registry-port", type=_PORT, help="The registry's port. Default: as for the broker.")
def up(home: Path, broker_port: int | None, registry_port: int | None) -> None:
    """Start the embedded Kafka broker and schema registry, and wait until they answer.

    They run in the background until `forebay down`. A process that already runs is left alone; a stopped one resumes
    with its data on the same port. The first start downloads about 140 MB, once per user.
    """
    console = Console()
    endpoints = Platform(home, Ports(broker_port, registry_port)).up(progress_for(console))
    console.print(f"bootstrap servers  {endpoints.bootstrap_servers}", highlight=False, soft_wrap=True)
    console.print(f"schema registry    {endpoints.registry_url}", highlight=False, soft_wrap=True)
