"""Errors of definition files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One mistake: its place, and the remedy."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class KsmlError(ValueError):
    """Definition files can't be run. The message contains file, line and remedy of the first problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = f" (and {len(problems) - 1} more: `forebay ksml check` lists them)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")


def refusal(file: str, line: int, message: str) -> KsmlError:
    """Return the error for a single problem."""
    return KsmlError([Problem(file, line, message)])
