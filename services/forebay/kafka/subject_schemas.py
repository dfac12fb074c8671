"""Schemas by id, but only those that a subject holds: who may write a topic can't choose what its readers parse."""

from __future__ import annotations

from forebay.kafka.registry import SchemaRegistry
from forebay.serde.resolver import UnknownSchemaId
from forebay.serde.schema import Schema


class SubjectSchemas:
    """Gives the schemas that were registered under one subject, in any version (implements SchemaResolver).

    Args:
        registry: asked once for each id.
        subject: whose versions count, deleted ones too, since their records may still exist.
        remedy: what else errors advise than to register the schema.
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
            UnknownSchemaId: there is none, or it is not of this subject (the answer is cached for a while).
            RegistryUnavailable: not available for as long as the registry's client is patient.
        """
        if not self._registry.holds(self._subject, schema_id):
            raise UnknownSchemaId(
                f"schema id {schema_id} is not of the subject {self._subject}: register the schema there, or "
                f"{self._remedy}"
            )
        return self._registry.schema(schema_id)
