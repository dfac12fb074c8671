"""Schemas of a single subject by id, so that a topic's writers can't make its readers use any other schema."""

from __future__ import annotations

from forebay.kafka.registry import SchemaRegistry
from forebay.serde.resolver import UnknownSchemaId
from forebay.serde.schema import Schema


class SubjectSchemas:
    """The schemas that were registered under one subject, in any version (implements SchemaResolver).

    Args:
        registry: requested once for each id.
        subject: name of the subject. Deleted versions count, too, because their records may still exist.
        remedy: alternative to registering the schema, for errors.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject: str,
        remedy: str = "set FOREBAY_SCHEMA_REGISTRY_IDS=any to take every subject's",
    ) -> None:
        self._registry = registry
        self._subject = subject
        self._remedy = remedy

    def schema(self, schema_id: int) -> Schema:
        """Return the schema of an id.

        Raises:
            UnknownSchemaId: there is no such schema, or it is not of this subject (this result is cached for a while).
            RegistryUnavailable: the registry was not available for the `patience_s` of its client.
        """
        if not self._registry.holds(self._subject, schema_id):
            raise UnknownSchemaId(
                f"schema id {schema_id} is not of the subject {self._subject}: register the schema there, or "
                f"{self._remedy}"
            )
        return self._registry.schema(schema_id)
