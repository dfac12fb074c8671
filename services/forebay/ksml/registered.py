"""The schema registry that the environment names, for the schemas and ids that definitions need."""

from __future__ import annotations

import os

from forebay.kafka.environment import settings_from_environment
from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry import SchemaRegistry, shared_registry
from forebay.ksml.schemas import NoRegistry, Registry
from forebay.ksml.types import UnknownType
from forebay.serde.resolver import RegistryUnavailable
from forebay.serde.schema import Schema

URL = "FOREBAY_SCHEMA_REGISTRY_URL"


class Registered:
    """The registry of the environment, which is used only if a definition needs it (implements Registry)."""

    def latest(self, subject: str) -> str:
        try:
            schema = _registry().newest(subject)
        except (RegistryRefused, RegistryUnavailable) as error:
            raise UnknownType(f"the schema of {subject} can't be asked for: {error}") from error
        if schema is None:
            raise UnknownType(
                f"the registry has no schema under {subject}: write avro:NameOfTheSchema, or register one"
            )
        return schema.schema.text

    def id_of(self, subject: str, text: str, kind: str) -> int:
        try:
            # Register instead of looking up, because a new definition's schema need not be in the registry yet.
            # Registering a known schema returns its id.
            return _registry().register(subject, Schema(text), kind).schema_id
        except (RegistryRefused, RegistryUnavailable) as error:
            raise UnknownType(f"the schema of {subject} can't be registered: {error}") from error

    def text_of(self, schema_id: int) -> str:
        return _registry().schema(schema_id).text

    def holds(self, subject: str, schema_id: int) -> bool:
        return _registry().holds(subject, schema_id)


NEEDED = Registered()
"""The registry for the processes of a job, which must all have the same ids."""


class _Asked(NoRegistry):
    """The registry of the environment, for commands that start no job. They read it, but register nothing."""

    def latest(self, subject: str) -> str:
        return NEEDED.latest(subject)

    def text_of(self, schema_id: int) -> str:
        return NEEDED.text_of(schema_id)

    def holds(self, subject: str, schema_id: int) -> bool:
        return NEEDED.holds(subject, schema_id)


def registry_if_any() -> Registry:
    """Return the environment's registry for reading; an empty one if the environment names none."""
    return _Asked() if os.environ.get(URL) else NoRegistry()


def _registry() -> SchemaRegistry:
    if not os.environ.get(URL):
        raise UnknownType(
            f"keys and values with a schema of the registry need one in every process of the job: set {URL}"
        )
    return shared_registry(settings_from_environment(bootstrap_servers="none").registry())
