"""Values of options that reads and writes share. Names are case-insensitive: `given` has them in lower case."""

from __future__ import annotations

import os
from collections.abc import Mapping

from forebay.kafka.environment import settings_from_environment
from forebay.kafka.settings import KafkaSettings
from forebay.spark.errors import OptionError

CLIENT = "kafka."
"""Prefix of librdkafka's options."""


def connection(given: Mapping[str, str]) -> KafkaSettings:
    """Return the connection: the options, then the FOREBAY_... variables of the driver's environment.

    Raises:
        KafkaSettingsError: A value is missing or invalid.
    """
    client = {name.removeprefix(CLIENT): text for name, text in given.items() if name.startswith(CLIENT)}
    servers = client.pop("bootstrap.servers", "") or given.get("bootstrapservers", "")
    fields = {"bootstrap_servers": servers, "schema_registry_url": given.get("schemaregistryurl", "")}
    settings = settings_from_environment(os.environ, client, **{name: text for name, text in fields.items() if text})
    settings.check()
    return settings


def choice(given: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """Return the value of an option that has a fixed set of values, of which the first one is the default."""
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
