"""Values of options that reads and writes share.

Names of options are case-insensitive. In the argument `given`, they are in lower case.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from forebay.kafka.environment import settings_from_environment
from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError
from forebay.utils.spelling import did_you_mean

CLIENT = "kafka."
"""Prefix of options that are passed to librdkafka."""
_CONNECTION = ("bootstrapServers", "schemaRegistryUrl")
OF_SCHEMAS = ("Subject", "SchemaId", "Message")
"""Options that choose a schema, without the prefix `key` or `value`."""
_NO_REGISTRY = "http://no-registry-is-set.invalid"


def check_connection_options(given: Mapping[str, str]) -> None:
    """Check that all options are connection options. Raises OptionError."""
    for name in given.keys() - {option.lower() for option in _CONNECTION}:
        if not name.startswith(CLIENT):
            raise OptionError(
                f"there is no option {name}{did_you_mean(name, _CONNECTION)}: a connection has "
                f"{', '.join(_CONNECTION)} and kafka.<option>"
            )


def connection(given: Mapping[str, str], *, needs_registry: bool = True) -> KafkaSettings:
    """Return the connection from the options and from the FOREBAY_... variables of the driver's environment.

    Options take precedence over variables.

    Args:
        given: The options.
        needs_registry: Whether a key or a value has a registered schema.

    Raises:
        OptionError: No broker is specified, or no registry although it is needed.
        KafkaSettingsError: A value is invalid.
    """
    client = {name.removeprefix(CLIENT): text for name, text in given.items() if name.startswith(CLIENT)}
    servers = client.pop("bootstrap.servers", "") or given.get("bootstrapservers", "")
    servers = servers or os.environ.get("FOREBAY_BOOTSTRAP_SERVERS", "")
    registry = given.get("schemaregistryurl", "") or os.environ.get("FOREBAY_SCHEMA_REGISTRY_URL", "")
    if not servers:
        raise OptionError(
            'name the broker with option("bootstrapServers", "localhost:9092") or the variable '
            "FOREBAY_BOOTSTRAP_SERVERS of the driver"
        )
    if not registry and needs_registry:
        raise OptionError(
            'name the schema registry with option("schemaRegistryUrl", "http://localhost:8081") or the variable '
            "FOREBAY_SCHEMA_REGISTRY_URL of the driver. Without schemas none is needed: set valueFormat, and keyFormat "
            "if there are keys, to string or bytes"
        )
    fields = {"bootstrap_servers": servers, "schema_registry_url": registry or _NO_REGISTRY}
    settings = settings_from_environment(os.environ, client, **fields)
    settings.check()
    return settings


def choice(given: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """Return the value of an option that has a fixed set of values. The first value is the default."""
    text = given.get(name.lower(), values[0]).lower()
    if text not in values:
        raise OptionError(f"{name} is {text}: write one of {', '.join(values)}")
    return text


def number(given: Mapping[str, str], name: str, default: int = 0) -> int:
    """Return the value of an option that is a whole number."""
    text = given.get(name.lower(), str(default))
    if not (text.isascii() and text.isdigit()):
        raise OptionError(f"{name} is {text}: write a whole number")
    return int(text)


def schema_options(given: Mapping[str, str], part: str) -> list[str]:
    """Return the names of the options that choose the schema of a part, `key` or `value`."""
    return [f"{part}{name}" for name in OF_SCHEMAS if given.get(f"{part}{name}".lower())]


def check_schema_options(given: Mapping[str, str], part: str, form: str, *, has_schema: bool) -> None:
    """Check that no option chooses a schema if the format has no schema. Raises OptionError."""
    own = schema_options(given, part)
    if own and not has_schema:
        raise OptionError(f"{own[0]} does not apply to {part}Format={form}, which has no schema: leave one of them out")
