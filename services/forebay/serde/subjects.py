"""The interface for schemas by subject, for formats that register schemas, and implementations without a registry.

A codec of keys does not know the process in which it runs. Therefore each process sets its registry once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from forebay.serde.resolver import RegistryUnavailable, SchemaResolver, UnknownSchemaId
from forebay.serde.schema import RegisteredSchema, Schema

AVRO, PROTOBUF, JSON_SCHEMA = "AVRO", "PROTOBUF", "JSON"
"""Kinds of schemas, as registries name them."""


class Subjects(SchemaResolver, Protocol):
    """A registry of schemas of any kind. Schemas that are not Avro are only texts."""

    def holds(self, subject: str, schema_id: int) -> bool:
        """Return whether a subject has the schema with this id. Raise UnknownSchemaId or RegistryUnavailable."""
        ...

    def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the newest schema of a subject, or None if it has no schema. Raise RegistryUnavailable."""
        ...

    def register(self, subject: str, schema: Schema, kind: str = AVRO) -> RegisteredSchema:
        """Register a schema in a subject if it is new, and return it with its id. Raise RegistryUnavailable."""
        ...


_OWN_IDS = 1 << 30
"""First local id. Local ids start at 2^30, so that they never collide with a registry's."""


class LocalSubjects:
    """Subjects without a registry, for the test driver and tests.

    Args:
        first: First id that is assigned.
    """

    def __init__(self, first: int = 1) -> None:
        self._first = first
        self._schemas: dict[int, Schema] = {}
        self._ids: dict[Schema, int] = {}
        self._newest: dict[str, RegisteredSchema] = {}
        self._held: set[tuple[str, int]] = set()

    def schema(self, schema_id: int) -> Schema:
        """Return the schema. Raises UnknownSchemaId."""
        if schema_id not in self._schemas:
            raise UnknownSchemaId(f"unknown schema id {schema_id}: known are {sorted(self._schemas)}")
        return self._schemas[schema_id]

    def holds(self, subject: str, schema_id: int) -> bool:
        """Return whether the schema with this id was registered in a subject."""
        return (subject, schema_id) in self._held

    def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the schema that was registered last, or None."""
        return self._newest.get(subject)

    def register(self, subject: str, schema: Schema, kind: str = AVRO, schema_id: int = 0) -> RegisteredSchema:
        """Return the schema with its id, the same each time."""
        del kind
        number = schema_id or self._ids.get(schema) or max((self._first - 1, *self._schemas)) + 1
        self._ids[schema], self._schemas[number] = number, schema
        self._held.add((subject, number))
        self._newest[subject] = RegisteredSchema(number, schema)
        return self._newest[subject]


class OwnSubjects(LocalSubjects):
    """Subjects that register schemas only locally, and read all others from a registry.

    Args:
        others: Function that returns the registry. It is called when the registry is needed.
    """

    def __init__(self, others: Callable[[], Subjects]) -> None:
        super().__init__(_OWN_IDS)
        self._others = others

    def schema(self, schema_id: int) -> Schema:
        return self._schemas.get(schema_id) or self._others().schema(schema_id)

    def holds(self, subject: str, schema_id: int) -> bool:
        if schema_id >= _OWN_IDS:
            # The registry does not know local ids.
            return super().holds(subject, schema_id)
        return self._others().holds(subject, schema_id)

    def newest(self, subject: str) -> RegisteredSchema | None:
        return super().newest(subject) or self._others().newest(subject)


_connected: list[Callable[[], Subjects]] = []


def connect(subjects: Subjects) -> None:
    """Set the registry of this process."""
    _connected[:] = [lambda: subjects]


def connect_when_asked(make: Callable[[], Subjects]) -> None:
    """Set the function that returns the registry of this process. It is called once, when the registry is needed."""
    _connected[:] = [cache(make)]


def connect_nowhere() -> None:
    """Set subjects without a registry for this process, unless it has a registry."""
    if not _connected:
        connect(LocalSubjects())


@contextmanager
def connected_meanwhile(make: Callable[[], Subjects]) -> Iterator[None]:
    """Set another registry for this process in the block, and restore the previous one afterwards.

    Args:
        make: Function that returns the registry. It is called when the registry is needed.
    """
    before = list(_connected)
    connect_when_asked(make)
    try:
        yield
    finally:
        _connected[:] = before


@contextmanager
def registering_nothing() -> Iterator[None]:
    """Only read the registry of this process in the block. Schemas that are registered in it are discarded."""
    subjects = OwnSubjects(_connected[0]) if _connected else LocalSubjects()
    with connected_meanwhile(lambda: subjects):
        yield


def connected_subjects() -> Subjects:
    """Return the registry of this process. Raise RegistryUnavailable if none is configured."""
    if not _connected:
        raise RegistryUnavailable(
            "no schema registry is configured: set --schema-registry-url or FOREBAY_SCHEMA_REGISTRY_URL"
        )
    return _connected[0]()
