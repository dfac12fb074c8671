"""Errors of statements, and their places."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in a text. Lines and columns count from 1.

    Args:
        file: Name of the file, or "" for a statement that was not read from a file.
    """

    file: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.file else f"line {self.line}, column {self.column}"


NOWHERE = Place("", 0, 0)
"""Place of an error that has no statement."""


class SqlError(ValueError):
    """A statement can't be run. The message contains file, line, column, and what to write instead."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message if place == NOWHERE else f"{place}: {message}")
        self.place = place
        self.reason = message
