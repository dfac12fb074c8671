"""Schemas that types name, read from files beside the definition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebay.ksml.types import UnknownType


class SchemaFiles:
    """Where schemas are looked for: folders, in order."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)

    def file(self, name: str, suffix: str) -> Path | None:
        """Return the file of a schema; of a full name, also by its last part."""
        for folder in self.folders:
            for each in (name, name.rpartition(".")[2]):
                if (found := folder / f"{each}{suffix}").is_file():
                    return found
        return None

    def text(self, name: str, suffix: str) -> str:
        """Return the text of a schema. Raises UnknownType."""
        found = self.file(name, suffix)
        if found is None:
            where = ", ".join(map(str, self.folders)) or "no folder"
            raise UnknownType(
                f"there is no schema {name}{suffix} in {where}: put it there, or name its folder with --schemas"
            )
        return found.read_text(encoding="utf-8")

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a CSV schema: the first line of its file. Raises UnknownType."""
        first = next(iter(self.text(name, ".csv").splitlines()), "")
        return tuple(column.strip().strip('"') for column in first.split(",") if column.strip())
