"""Connection settings from environment variables: FOREBAY_<FIELD>, and FOREBAY_KAFKA_<OPTION> for librdkafka's."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from forebay.kafka.errors import KafkaSettingsError
from forebay.kafka.option_names import from_environment
from forebay.kafka.options import as_text
from forebay.kafka.registry_settings import Compatibility, SchemaIds
from forebay.kafka.secret import Secret
from forebay.kafka.settings import KafkaSettings

E = TypeVar("E", bound=enum.Enum)

_PREFIX = "FOREBAY_"
_OPTION_PREFIX = "FOREBAY_KAFKA_"


def _one_of(kind: type[E]) -> Callable[[str], E]:
    def read(text: str) -> E:
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"choose one of {', '.join(str(choice.value) for choice in kind)}") from None

    return read


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("specify a number of seconds") from None


_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "bootstrap_servers": str,
        "schema_registry_url": str,
        "schema_registry_username": str,
        "schema_registry_password": Secret,
        "schema_registry_token": Secret,
        "schema_registry_ca_location": Path,
        "schema_registry_certificate_location": Path,
        "schema_registry_key_location": Path,
        "schema_registry_compatibility": _one_of(Compatibility),
        "schema_registry_ids": _one_of(SchemaIds),
        "schema_registry_timeout_s": _seconds,
    }
)


def settings_from_environment(
    environment: Mapping[str, str] = os.environ, kafka: Mapping[str, Any] | None = None, **given: Any
) -> KafkaSettings:
    """Return settings from arguments and, for all other fields, environment variables. Empty variables are ignored.

    Args:
        kafka: client options, which override those of FOREBAY_KAFKA_<OPTION>.
        given: values that override those of the environment, by field of KafkaSettings.

    Raises:
        KafkaSettingsError: a value is missing or wrong. The message names the variable, and never contains a secret.
    """
    values = {**_fields(environment), **given, "kafka": {**_options(environment), **as_text(kafka or {})}}
    for name in ("bootstrap_servers", "schema_registry_url"):
        if not values.get(name):
            raise KafkaSettingsError(f"{_PREFIX}{name.upper()} is not set")
    return KafkaSettings(**values)


def _fields(environment: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name, read in _READERS.items():
        variable = f"{_PREFIX}{name.upper()}"
        text = environment.get(variable)
        if text:
            try:
                values[name] = read(text)
            except ValueError as error:
                raise KafkaSettingsError(f"{variable}={text}: {error}") from None
    return values


def _options(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        from_environment(name.removeprefix(_OPTION_PREFIX)): value
        for name, value in environment.items()
        if name.startswith(_OPTION_PREFIX)
    }
