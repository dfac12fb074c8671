"""Options for the addresses of broker and schema registry; by default, those of the embedded platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from forebay.cli.options import home_option
from forebay.kafka.environment import settings_from_environment
from forebay.kafka.option_names import is_secret
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform, PlatformError

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--bootstrap-servers",
        envvar="FOREBAY_BOOTSTRAP_SERVERS",
        help="Addresses of the brokers, host:port[,host:port...]. Default: the embedded platform's.",
    ),
    click.option(
        "--schema-registry-url",
        envvar="FOREBAY_SCHEMA_REGISTRY_URL",
        help="URL of the schema registry (Confluent API). Default: the embedded platform's.",
    ),
    click.option(
        "--kafka-option",
        "-X",
        "kafka_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="A client option of librdkafka, e.g. -X security.protocol=SSL. Repeatable. Set secrets by environment "
        "variable: FOREBAY_KAFKA_<NAME>, dots as underscores, e.g. FOREBAY_KAFKA_SASL_PASSWORD.",
    ),
    home_option,
)


def connection_options(command: Command) -> Command:
    """Add the options that `connect` accepts."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def connect(
    home: Path, bootstrap_servers: str | None, schema_registry_url: str | None, kafka_options: tuple[str, ...]
) -> KafkaSettings:
    """Return the checked settings that the options specify, without connecting to anything.

    Raises:
        click.UsageError: an option or environment variable is wrong.
        click.ClickException: no broker or registry is specified, and there is no embedded platform in `home`.
    """
    addresses = {"--bootstrap-servers": bootstrap_servers, "--schema-registry-url": schema_registry_url}
    missing = [option for option, value in addresses.items() if not value]
    if missing:
        endpoints = _embedded_platform(home, missing)
        bootstrap_servers = bootstrap_servers or endpoints.bootstrap_servers
        schema_registry_url = schema_registry_url or endpoints.registry_url
    try:
        settings = settings_from_environment(
            bootstrap_servers=bootstrap_servers,
            schema_registry_url=schema_registry_url,
            kafka=dict(map(_name_and_value, kafka_options)),
        )
        settings.check()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return settings


def _embedded_platform(home: Path, missing: Sequence[str]) -> Any:
    try:
        return Platform(home).endpoints
    except PlatformError as error:
        what = "broker" if "--bootstrap-servers" in missing else "schema registry"
        raise click.ClickException(
            f"no {what}: start the embedded platform with `forebay up`, or specify yours with {' and '.join(missing)} "
            f"({error})"
        ) from error


def _name_and_value(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.UsageError(f"--kafka-option {text}: write NAME=VALUE, for instance security.protocol=SSL")
    if is_secret(name):
        variable = f"FOREBAY_KAFKA_{name.upper().replace('.', '_')}"
        raise click.UsageError(
            f"--kafka-option {name}: other users of this machine can see command lines. Set {variable} instead"
        )
    return name, value
