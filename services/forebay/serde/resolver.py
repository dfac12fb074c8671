"""The interface for schemas by id in a registry, and an implementation without a registry."""

from __future__ import annotations

from typing import Protocol

from forebay.codec import DecodeError, Unavailable
from forebay.serde.schema import RegisteredSchema, Schema


class RegistryUnavailable(Unavailable):
    """The schema registry can't be reached or is failing. The commit fails and is retried."""


class UnknownSchemaId(DecodeError):
    """The registry reports that it has no schema with this id."""


class SchemaResolver(Protocol):
    """A source of schemas by id. The schema of an id never changes."""

    def schema(self, schema_id: int) -> Schema:
        """Return the schema. Raise UnknownSchemaId or RegistryUnavailable."""
        ...


class LocalSchemas:
    """A resolver without a registry, for the test driver and tests. Its ids begin at 1."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._ids: dict[Schema, int] = {}

    def register(self, schema: Schema) -> RegisteredSchema:
        """Return the schema with its id. Equal schemas have the same id."""
        schema_id = self._ids.setdefault(schema, len(self._ids) + 1)
        self._schemas[schema_id] = schema
        return RegisteredSchema(schema_id, schema)

    def schema(self, schema_id: int) -> Schema:
        """Return the schema. Raise UnknownSchemaId if no schema has this id."""
        try:
            return self._schemas[schema_id]
        except KeyError:
            raise UnknownSchemaId(f"unknown schema id {schema_id}: known are {sorted(self._schemas)}") from None
