"""Lookup of schemas in the registry, which are then stored in a file next to the statements.

All processes of a job must use the same columns, also after the topic's schema has changed. The schemas are therefore
stored in a file, like the lock file of a package manager.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forebay.serde.resolver import UnknownSchemaId
from forebay.serde.subjects import connected_subjects
from forebay.sql.errors import Place, SqlError


def ask(subject: str, schema_id: int) -> tuple[int, str] | None:
    """Return id and text of a schema from the registry, or None. Raises UnknownSchemaId, RegistryUnavailable."""
    if schema_id:
        return schema_id, connected_subjects().schema(schema_id).text
    result = connected_subjects().newest(subject)
    return None if result is None else (result.schema_id, result.schema.text)


class Kept:
    """Schemas from the registry, each as of its first lookup.

    Args:
        path: The file or folder with the statements.
    """

    def __init__(self, path: Path) -> None:
        self._file = path / "schemas.json" if path.is_dir() else path.with_suffix(".schemas.json")
        self._known: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """Content of the file, or "" if no schema was looked up."""
        try:
            return self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def __call__(self, subject: str, schema_id: int) -> tuple[int, str] | None:
        """Return id and text of a schema. Raises SqlError, UnknownSchemaId, RegistryUnavailable."""
        known = self._read()
        name = f"{subject} {schema_id}" if schema_id else subject
        if name not in known:
            result = ask(subject, schema_id)
            if result is None:
                return None
            known[name] = {"id": result[0], "schema": result[1]}
            self._write(known)
        try:
            return int(known[name]["id"]), str(known[name]["schema"])
        except (KeyError, TypeError, ValueError) as error:
            raise UnknownSchemaId(
                f"{self._file} lacks the id or schema of {name}: delete it to fetch it again"
            ) from error

    def _read(self) -> dict[str, Any]:
        if self._known is None:
            try:
                self._known = dict(json.loads(self._file.read_text(encoding="utf-8")))
            except FileNotFoundError:
                self._known = {}
            except (OSError, ValueError, TypeError) as error:
                raise SqlError(
                    Place(str(self._file)), f"no schemas can be read: {error}: delete it to fetch them again"
                ) from error
        return self._known

    def _write(self, known: dict[str, Any]) -> None:
        text = json.dumps(dict(sorted(known.items())), indent=2, ensure_ascii=False)
        try:
            self._file.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise SqlError(
                Place(str(self._file)),
                f"the schemas that the statements need can't be kept here: {error.strerror}: run "
                "`forebay sql -f FILE` where the folder can be written to, and bring this file along",
            ) from error
