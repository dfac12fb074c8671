"""What is wrong with a statement, and where."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in a text. Lines and columns count from 1.

    Args:
        file: "" for a statement that was not read from a file.
    """

    file: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.file else f"line {self.line}, column {self.column}"


NOWHERE = Place("", 0, 0)
"""The place of an error that no statement caused."""


class SqlError(ValueError):
    """A statement that can't be run: the message names file, line, column, and what to write instead."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message if place == NOWHERE else f"{place}: {message}")
        self.place = place
        self.reason = message
