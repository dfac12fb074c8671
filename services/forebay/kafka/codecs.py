"""Codecs of a service's records, with the registry's ids of their contracts."""

from __future__ import annotations

from typing import TypeVar

from forebay.kafka.registry import SchemaRegistry, shared_registry, subject_of
from forebay.kafka.registry_settings import SchemaIds
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.subject_schemas import SubjectSchemas
from forebay.serde import AvroCodec, RegisteredSchema, load_contract

T = TypeVar("T")

_NO_ID = (1 << 32) - 1
"""An id that no registry assigns."""


def register_contract(registry: SchemaRegistry, service: str, name: str, topic: str) -> RegisteredSchema:
    """Register the contract `name` of `service` for the values of `topic`. Repeated calls return the same id.

    Raises:
        ContractMissing, InvalidSchema: see load_contract.
        RegistryRefused, RegistryUnavailable: see SchemaRegistry.register.
    """
    return registry.register(subject_of(topic), load_contract(service, name))


def registry_codec(
    settings: KafkaSettings, service: str, record_type: type[T], schema_id: int, others: str = ""
) -> AvroCodec[T]:
    """Return the codec of a record type, whose contract of the same name is registered as `schema_id`.

    Args:
        others: a topic with other writers. Only schemas of its subject are decoded, unless the settings accept any.

    Raises:
        ContractMissing, InvalidSchema, ContractMismatch: the contract does not match the record type.
    """
    registered = RegisteredSchema(schema_id, load_contract(service, record_type.__name__))
    registry = shared_registry(settings.registry())
    if others and settings.schema_registry_ids is SchemaIds.SUBJECT:
        return AvroCodec(record_type, registered, SubjectSchemas(registry, subject_of(others)))
    return AvroCodec(record_type, registered, registry)


def reading_codec(settings: KafkaSettings, service: str, record_type: type[T]) -> AvroCodec[T]:
    """Return a codec that only decodes, without registering its contract. Raises as `registry_codec`."""
    return registry_codec(settings, service, record_type, _NO_ID)
