"""Reading of files with statements, including the files that RUN SCRIPT names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from forebay.sql.administration import RunScript
from forebay.sql.errors import Place, SqlError
from forebay.sql.statements import parse
from forebay.sql.syntax import Statement
from forebay.sql.types import SqlType
from forebay.sql.variables import Variables

MOST_FILES = 1_000
"""Largest number of files that a file may include, directly or through other files."""


@dataclass(slots=True)
class Scripts:
    """Reader of files. Named types and variables of a file can be used in files that are read after it.

    Args:
        count: Number of files that were read.
    """

    types: dict[str, SqlType] = field(default_factory=dict)
    variables: Variables = field(default_factory=Variables)
    count: int = 0

    def read(self, path: Path, place: Place | None = None, within: tuple[Path, ...] = ()) -> Iterator[Statement]:
        """Yield the statements of a file. Each RUN SCRIPT is replaced by the statements of its file. Raises SqlError.

        Args:
            path: The file.
            place: Place of the statement that includes the file, or None.
            within: The files that include this file, directly or through other files.
        """
        self.count += 1
        if path.resolve() in within:
            raise SqlError(place or Place(str(path)), f"{path} includes itself: take this RUN SCRIPT out")
        if self.count > MOST_FILES:
            raise SqlError(place or Place(str(path)), f"more than {MOST_FILES} files are included: write fewer")
        what, where = ("the file", Place(str(path))) if place is None else (f"the file {path}", place)
        try:
            text = path.read_text(encoding="utf-8-sig")  # editors of Windows begin a file with a mark
        except UnicodeError as error:
            raise SqlError(where, f"{what} can't be read: {error}: give a text in UTF-8") from error
        except OSError as error:
            raise SqlError(where, f"{what} can't be read: {error.strerror}: name one that can") from error
        for statement in parse(text, path.name, self.types, self.variables):
            if isinstance(statement, RunScript):
                script = path.parent / statement.path
                yield from self.read(script, statement.place, (*within, path.resolve()))
            else:
                yield statement
