"""Encodes a record that a user has written as text, in the formats that a job declares for its topic."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from forebay.catalog import Service
from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats import Contracts, Format, avro, no_contracts
from forebay.job import load_job
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import shared_registry
from forebay.kafka.settings import KafkaSettings
from forebay.queries.contents import record_class
from forebay.queries.key_texts import example_of, parse_key
from forebay.records import fields_of, is_record_type
from forebay.serde.json_format import json_of


class WrongRecord(ValueError):
    """The record can't be written to the topic. The message contains the remedy."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """An encoded record."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int | None = None


def encode_record(
    topic: str,
    key: str | None,
    value: str | None,
    timestamp: int | None,
    services: Iterable[Service],
    kafka: KafkaSettings,
) -> Outgoing:
    """Return the encoded record of a key and value that are given as texts.

    Args:
        value: None deletes a row of a table.
        timestamp: in ms; None: the time at which it is sent.

    Raises:
        WrongRecord: no job declares the topic, or a text does not fit its format.
        RegistryRefused, RegistryUnavailable.
    """
    declared = [
        (service, item)
        for service in services
        for item in (*service.inputs, *service.outputs)
        if topic in (item.name, item.declared)
    ]
    if not declared:
        raise WrongRecord(
            f"no service declares the topic {topic}: `forebay services` lists the services and their topics"
        )
    service, item = declared[0]
    job = load_job(service.job)
    name = item.declared
    if job.program is not None:
        raise WrongRecord(
            f"{topic} is a topic of {service.name}, which is written in SQL: "
            "send `INSERT INTO name (column, ...) VALUES (...)` in `forebay sql` or to POST /sql"
        )
    kind = job.format_of(name) if name in job.formats else job.read_format_of(name)
    value_kind = kind.value or avro(record_class(service, name))

    def contract(record: type[Any], /) -> Codec[Any]:
        registered = register_contract(registry, service.name, item.record, item.name)
        return registry_codec(kafka, service.name, record, registered.schema_id)

    registry = shared_registry(kafka.registry())
    return Outgoing(
        item.name,
        None if key is None else _encode(kind.key, _key(kind.key, key), "the key", no_contracts),
        None if value is None else _encode(value_kind, _value(value_kind, value), "the value", contract),
        timestamp,
    )


def _key(kind: Format[Any], text: str) -> Any:
    try:
        return text if kind.is_text else parse_key(kind, text)
    except (ValueError, DecodeError, TypeError) as error:
        raise WrongRecord(f"--key {text!r} is not a key of the format {kind}: write {example_of(kind)}") from error


def _value(kind: Format[Any], text: str) -> Any:
    """Return the value of a text, which is JSON except for texts, UUIDs and bytes."""
    if kind.type in (str, uuid.UUID, bytes):
        return _key(kind, text)
    try:
        if is_record_type(kind.type):
            return _record_value(kind.type, text)
        return json.loads(text)
    except (ValueError, DecodeError) as error:
        fields = ", ".join(fields_of(kind.type)) if is_record_type(kind.type) else ""
        wanted = f"a JSON object with the fields {fields}" if fields else f"JSON of the format {kind}"
        raise WrongRecord(f"the value can't be read: {error}. Write {wanted}, in single quotes") from error
    except TypeError as error:
        raise WrongRecord(f"values of the format {kind} can't be written as JSON: {error}") from error


def _record_value(record: type[Any], text: str) -> Any:
    try:
        codec = json_of(record).codec(no_contracts)
    except TypeError:  # the JSON format has no decimals and bytes; here they are written as texts
        value = json.loads(text)
        unknown = sorted(set(value) - set(fields_of(record))) if isinstance(value, dict) else ()
        if unknown:
            raise ValueError(f"there is no field {', '.join(unknown)}") from None
        return msgspec.json.decode(text, type=record)
    return codec.decode(text.encode())


def _encode(kind: Format[Any], value: Any, what: str, contracts: Contracts) -> bytes:
    try:
        return kind.codec(contracts).encode(value)
    except EncodeError as error:
        raise WrongRecord(f"{what} does not fit the format {kind}: {error}") from error
