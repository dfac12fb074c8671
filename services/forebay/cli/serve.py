"""forebay serve: run a broker or registry as the process of a container."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from forebay.cli.lazy import CommandGroup
from forebay.cli.options import home_option
from forebay.platform.broker_settings import Listeners, read_properties
from forebay.platform.progress import progress_for
from forebay.platform.serve import ANY_ADDRESS, serve_broker, serve_registry

Command = TypeVar("Command", bound=Callable[..., Any])


def _port(name: str, default: int, text: str) -> Callable[[Command], Command]:
    return click.option(name, type=click.IntRange(0, 65_535), default=default, help=text)


@click.group(cls=CommandGroup)
def serve() -> None:
    """Run the broker or the registry in the foreground, reachable from other machines.

    For containers of a development cluster; `forebay up` is for one machine.
    """


@serve.command(
    epilog="""\b
Examples:
  forebay serve broker --home /data --advertise demo-broker
  forebay serve broker --home /data --advertise kafka --properties /etc/kafka/tls.properties"""
)
@home_option
@click.option("--advertise", required=True, metavar="HOST", help="Host name under which clients reach this machine.")
@_port("--port", 9092, "Port for clients.")
@_port("--controller-port", 9093, "Port of the controller, on the loopback address.")
@_port("--forwarded-port", 19092, "Port that advertises 127.0.0.1 to clients, for kubectl port-forward; 0: none.")
@click.option(
    "--properties",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of broker settings (server.properties), such as TLS. They override the defaults, even the listeners.",
)
def broker(
    home: Path, advertise: str, port: int, controller_port: int, forwarded_port: int, properties: Path | None
) -> None:
    """Run a Kafka broker; its data is kept under --home. SIGTERM ends it at once, as SIGKILL does."""
    listeners = Listeners(port, controller_port, ANY_ADDRESS, advertise, forwarded_port)
    further = read_properties(properties) if properties else {}
    serve_broker(home, listeners, further, progress_for(Console(stderr=True)))


@serve.command(
    epilog="""\b
Examples:
  forebay serve registry --home /data"""
)
@home_option
@_port("--port", 8080, "Port for clients.")
def registry(home: Path, port: int) -> None:
    """Run a schema registry (Confluent API under /apis/ccompat/v7); its data is kept under --home."""
    serve_registry(home, port, progress_for(Console(stderr=True)))
