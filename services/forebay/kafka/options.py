"""Check client options with librdkafka itself, before anything connects."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from forebay.kafka.errors import KafkaSettingsError
from forebay.kafka.option_names import ALL, CONSUMER, PRODUCER, is_secret
from forebay.kafka.secret import Secret, without_line_end

Options = Mapping[str, str | Secret]

RESERVED: Mapping[str, str] = MappingProxyType(
    {
        "auto.offset.reset": "a consumer whose offset is gone must stop, never skip",
        "bootstrap.servers": "set it as FOREBAY_BOOTSTRAP_SERVERS",
        "enable.auto.commit": "offsets are committed with their results",
        "enable.auto.offset.store": "offsets are committed with their results",
        "enable.idempotence": "without it a retry may write a record twice",
        "enable.partition.eof": "ranges end by it",
        "group.id": "it follows from the application's id",
        "isolation.level": "only committed records count",
        "metadata.broker.list": "set it as FOREBAY_BOOTSTRAP_SERVERS",
        "partitioner": "keys must go to the partitions that other Kafka clients would choose",
        "transactional.id": "it follows from the application's id",
    }
)
"""Options that exactly-once depends on, with the reason why they can't be set."""


def plain(value: str | Secret) -> str:
    """Return an option's value for librdkafka, with secrets in plain text."""
    return value.reveal() if isinstance(value, Secret) else value


def as_text(options: object) -> dict[str, str | Secret]:
    """Return options with their values as text. Raises ValueError for anything but a mapping."""
    if not isinstance(options, Mapping):
        raise ValueError("Kafka options are a mapping from names to values")
    return {
        str(name): value if isinstance(value, Secret) else str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }


def hide_secrets(options: Options) -> dict[str, str | Secret]:
    """Return the options with secret values wrapped, so that no repr shows them, and without line ends."""
    return {
        name: without_line_end(value if isinstance(value, Secret) else Secret(value)) if is_secret(name) else value
        for name, value in options.items()
    }


def for_consumer(options: Options) -> dict[str, Any]:
    """Return the options that apply to a consumer."""
    return {name: plain(value) for name, value in options.items() if name not in PRODUCER}


def for_producer(options: Options) -> dict[str, Any]:
    """Return the options that apply to a producer."""
    return {name: plain(value) for name, value in options.items() if name not in CONSUMER}


def for_admin(options: Options) -> dict[str, Any]:
    """Return the options that apply to an admin client."""
    return {name: plain(value) for name, value in options.items() if name not in CONSUMER | PRODUCER}


def check_options(options: Options) -> None:
    """Check that librdkafka accepts the options and that none is reserved, without connecting to anything.

    Raises:
        KafkaSettingsError: an option is refused. The message suggests similar options, and contains no secret.
    """
    for name, value in options.items():
        if name in RESERVED:
            raise KafkaSettingsError(f"the Kafka option {name} can't be set: {RESERVED[name]}")
        if "." not in name and name not in ALL:
            raise _unknown(name)
        reason = _reason_against({name: plain(value)})
        if reason.startswith(_NO_SUCH):
            raise _unknown(name)
        if reason.startswith("Invalid value"):
            raise KafkaSettingsError(f"librdkafka refuses the Kafka option {name}: {_mask(reason, options)}")
    # librdkafka creates no consumer without a group.id.
    for together in (for_producer(options), {**for_consumer(options), "group.id": "forebay"}):
        reason = _reason_against(together)
        if reason:
            names = ", ".join(options)
            raise KafkaSettingsError(f"librdkafka refuses the Kafka options {names}: {_mask(reason, options)}")


_NO_SUCH = "No such configuration property"
_silent = logging.getLogger("forebay.kafka.check")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def _reason_against(config: dict[str, Any]) -> str:
    """Return why librdkafka refuses a configuration; "" if it accepts it."""
    client = Consumer if "group.id" in config else Producer
    try:
        instance = client({**config, "log_level": config.get("log_level", 0), "logger": _silent})
    except KafkaException as error:
        return str(error.args[0].str())
    except (TypeError, ValueError) as error:
        return f"Invalid value: {error}"
    if isinstance(instance, Consumer):
        instance.close()
    return ""


def _mask(reason: str, options: Options) -> str:
    for value in options.values():
        if isinstance(value, Secret) and value.reveal():
            reason = reason.replace(value.reveal(), "**********")
    return reason


def _unknown(name: str) -> KafkaSettingsError:
    near = difflib.get_close_matches(name, ALL, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "librdkafka's CONFIGURATION.md lists them"
    return KafkaSettingsError(f"there is no Kafka option {name}: {hint}")
