"""Schemas by id: the door to a registry, and one that needs none."""

from __future__ import annotations

from typing import Protocol

from forebay.codec import DecodeError, Unavailable
from forebay.serde.schema import RegisteredSchema, Schema


class RegistryUnavailable(Unavailable):
    """The schema registry can't be reached or is failing: the commit fails and is retried."""


class UnknownSchemaId(DecodeError):
    """The registry is sure that it has no schema with this id."""


class SchemaResolver(Protocol):
    """Gives schemas by id. An id means the same schema for ever."""

    def schema(self, schema_id: int) -> Schema:
        """Return the schema. Raises UnknownSchemaId, RegistryUnavailable."""
        ...


class LocalSchemas:
    """A resolver without a registry: ids are counted from 1. For the test driver and tests."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._ids: dict[Schema, int] = {}

    def register(self, schema: Schema) -> RegisteredSchema:
        """Return the schema with its id, the same each time."""
        schema_id = self._ids.setdefault(schema, len(self._ids) + 1)
        self._schemas[schema_id] = schema
        return RegisteredSchema(schema_id, schema)

    def schema(self, schema_id: int) -> Schema:
        """Return the schema. Raises UnknownSchemaId."""
        try:
            return self._schemas[schema_id]
        except KeyError:
            raise UnknownSchemaId(f"unknown schema id {schema_id}: known are {sorted(self._schemas)}") from None
