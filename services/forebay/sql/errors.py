"""What is wrong with a statement, and where."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Where something stands in a text; line and column count from 1."""

    file: str = "<statement>"
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Place()


class SqlError(ValueError):
    """A statement that can't be run: the message names file, line, column, and what to write instead."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.reason = message
