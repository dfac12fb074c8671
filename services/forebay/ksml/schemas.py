"""Schemas of types, from files next to the definition or from a schema registry."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from forebay.ksml.types import UnknownType
from forebay.serde.resolver import UnknownSchemaId

OF_SUBJECT = "@"
"""Prefix of the name of a schema that is the latest of a registry's subject."""
_LARGEST_ID = (1 << 31) - 1


class Registry(Protocol):
    """The methods of a schema registry that definitions need."""

    def latest(self, subject: str, /) -> str:
        """Return the text of a subject's latest schema. Raises UnknownType."""
        ...

    def id_of(self, subject: str, text: str, kind: str, /) -> int:
        """Return the id of a schema, registered under a subject.

        Args:
            kind: AVRO, JSON or PROTOBUF.

        Raises:
            UnknownType: the registry refuses it.
        """
        ...

    def text_of(self, schema_id: int, /) -> str:
        """Return the text of a schema. Raises UnknownSchemaId, RegistryUnavailable."""
        ...

    def holds(self, subject: str, schema_id: int, /) -> bool:
        """Return whether a subject has the schema of an id. Raises UnknownSchemaId, RegistryUnavailable."""
        ...


class NoRegistry:
    """Replaces a registry if nothing is sent. Schemas have ids derived from their texts. No others are known."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._held: set[tuple[str, int]] = set()

    def latest(self, subject: str) -> str:
        raise UnknownType(
            f"the schema of {subject} is the registry's, and none is named: write avro:NameOfTheSchema, or set "
            "FOREBAY_SCHEMA_REGISTRY_URL"
        )

    def id_of(self, subject: str, text: str, kind: str) -> int:
        # Any id will do if nothing is sent, but it must be the same in every process and a positive 32-bit number.
        schema_id = zlib.crc32(f"{kind} {text}".encode()) & _LARGEST_ID
        self._texts[schema_id] = text
        self._held.add((subject, schema_id))
        return schema_id

    def text_of(self, schema_id: int) -> str:
        if schema_id not in self._texts:
            raise UnknownSchemaId(
                f"the schema id {schema_id} is unknown without a registry: set FOREBAY_SCHEMA_REGISTRY_URL"
            )
        return self._texts[schema_id]

    def holds(self, subject: str, schema_id: int) -> bool:
        return (subject, schema_id) in self._held


class SchemaFiles:
    """Finds schemas in folders, in order, and in a registry if no folder has the file."""

    def __init__(self, folders: Sequence[Path], registry: Registry | None = None) -> None:
        self.folders = tuple(folders)
        self.registry: Registry = registry or NoRegistry()
        self._latest: dict[str, str] = {}

    def file(self, name: str, suffix: str) -> Path | None:
        """Return the file of a schema, whose name may be only the last part of the schema's full name."""
        for folder in self.folders:
            for stem in (name, name.rpartition(".")[2]):
                if (file := folder / f"{stem}{suffix}").is_file():
                    return file
        return None

    def text(self, name: str, suffix: str) -> str:
        """Return the text of a schema. Raises UnknownType."""
        if name.startswith(OF_SUBJECT):
            return self._of_subject(name.removeprefix(OF_SUBJECT))
        file = self.file(name, suffix)
        if file is None:
            where = ", ".join(map(str, self.folders)) or "no folder"
            raise UnknownType(
                f"there is no schema {name}{suffix} in {where}: put it there, or name its folder with --schemas"
            )
        return file.read_text(encoding="utf-8")

    def _of_subject(self, subject: str) -> str:
        if subject not in self._latest:
            self._latest[subject] = self.registry.latest(subject)
        return self._latest[subject]

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a CSV schema: the first line of its file. Raises UnknownType."""
        first = next(iter(self.text(name, ".csv").splitlines()), "")
        return tuple(column.strip().strip('"') for column in first.split(",") if column.strip())
