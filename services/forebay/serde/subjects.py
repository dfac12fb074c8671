"""Schemas by subject: the door to a registry for formats that write schemas of their own, and one that needs none.

A codec of keys knows nothing of where it runs. So each process says once which registry is its own.
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
    """Gives and takes schemas of any kind; a schema's text is all that is known of those that are not Avro."""

    def holds(self, subject: str, schema_id: int) -> bool:
        """Return whether a subject has the schema of an id. Raises UnknownSchemaId, RegistryUnavailable."""
        ...

    def newest(self, subject: str) -> RegisteredSchema | None:
        """Return the newest schema of a subject; None: it has none. Raises RegistryUnavailable."""
        ...

    def register(self, subject: str, schema: Schema, kind: str = AVRO) -> RegisteredSchema:
        """Return a schema with its id under a subject, registered if it is new there. Raises RegistryUnavailable."""
        ...


_OWN_IDS = 1 << 30
"""Registries count from 1: what is kept apart has ids that none of them will have given."""


class LocalSubjects:
    """Subjects without a registry, for the test driver and tests.

    Args:
        first: id that others are counted from, unless they are given.
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
        """Return whether the schema of an id was registered under a subject."""
        return (subject, schema_id) in self._held

    def newest(self, subject: str) -> RegisteredSchema | None:
        """Return what was registered last."""
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
    """Subjects that keep what is registered to themselves and read the rest elsewhere.

    Args:
        others: gives where to read; called when it is needed.
    """

    def __init__(self, others: Callable[[], Subjects]) -> None:
        super().__init__(_OWN_IDS)
        self._others = others

    def schema(self, schema_id: int) -> Schema:
        return self._schemas.get(schema_id) or self._others().schema(schema_id)

    def holds(self, subject: str, schema_id: int) -> bool:
        if schema_id >= _OWN_IDS:
            # Others do not know the ids that are counted here.
            return super().holds(subject, schema_id)
        return self._others().holds(subject, schema_id)

    def newest(self, subject: str) -> RegisteredSchema | None:
        return super().newest(subject) or self._others().newest(subject)


_connected: list[Callable[[], Subjects]] = []


def connect(subjects: Subjects) -> None:
    """Say which registry is this process's own."""
    _connected[:] = [lambda: subjects]


def connect_when_asked(make: Callable[[], Subjects]) -> None:
    """Say what gives this process's registry, called when it is asked for."""
    _connected[:] = [cache(make)]


def connect_nowhere() -> None:
    """Give this process subjects without a registry, unless it has some."""
    if not _connected:
        connect(LocalSubjects())


@contextmanager
def connected_meanwhile(make: Callable[[], Subjects]) -> Iterator[None]:
    """Give this process another registry, and afterwards the previous one, or none.

    Args:
        make: Returns the registry. It is called when the registry is asked for.
    """
    before = list(_connected)
    connect_when_asked(make)
    try:
        yield
    finally:
        _connected[:] = before


@contextmanager
def registering_nothing() -> Iterator[None]:
    """Only read the registry of this process; schemas registered within the block are forgotten at its end."""
    subjects = OwnSubjects(_connected[0]) if _connected else LocalSubjects()
    with connected_meanwhile(lambda: subjects):
        yield


def connected_subjects() -> Subjects:
    """Return this process's registry. Raises RegistryUnavailable where none was named."""
    if not _connected:
        raise RegistryUnavailable(
            "no schema registry is configured: set --schema-registry-url or FOREBAY_SCHEMA_REGISTRY_URL"
        )
    return _connected[0]()
