"""Case files and the results of their cases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from forebay.testing.cell import Json

FORMAT_VERSION = 1

REMARKS = frozenset({"id", "source", "note", "notes", "comment", "description", "title", "caution"})
"""Fields that only contain explanations."""


class BadCase(Exception):
    """A case contains something that the runner does not support. Such a case fails and is not skipped."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between an actual and an expected result of a case."""

    where: str
    expected: Json
    got: Json

    def __str__(self) -> str:
        return f"{self.where}: expected {_text(self.expected)}, got {_text(self.got)}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case, which has passed if there are no differences and no error."""

    case: str
    differences: tuple[Difference, ...] = ()
    problem: str = ""

    @property
    def passed(self) -> bool:
        return not self.differences and not self.problem


@dataclass(frozen=True, slots=True)
class FileResult:
    """The results of the cases of a file."""

    file: Path
    results: tuple[CaseResult, ...]

    @property
    def passed(self) -> int:
        """Number of cases that passed."""
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> int:
        """Number of cases that failed."""
        return len(self.results) - self.passed


def case_files(directory: Path) -> list[Path]:
    """Return the case files of a directory, sorted by path. Raises FileNotFoundError if there are no files."""
    files = sorted(directory.rglob("*.json"))
    if not files:
        raise FileNotFoundError(f"{directory} holds no case files (*.json): give a directory of conformance cases")
    return files


def load_cases(file: Path) -> list[Json]:
    """Return the cases of a file. Raises BadCase if it is not a case file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadCase(f"can't be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("cases"), list):
        raise BadCase('is not a case file: it has no list "cases"')
    if content.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
        raise BadCase(f"has format_version {content['format_version']}; this runner knows {FORMAT_VERSION}")
    if not content["cases"]:
        raise BadCase("holds no cases")
    return list(content["cases"])


def fields(where: str, content: Json, required: set[str], optional: set[str] | None = None) -> dict[str, Json]:
    """Return the fields of a JSON object. Raises BadCase for missing and unknown fields."""
    if not isinstance(content, dict):
        raise BadCase(f"{where} is {_text(content)}, not an object")
    missing = required - content.keys()
    if missing:
        raise BadCase(f"{where} lacks {', '.join(sorted(missing))}")
    unknown = content.keys() - required - (optional or set()) - REMARKS
    if unknown:
        raise BadCase(f"{where} has unknown fields: {', '.join(sorted(unknown))}")
    return content


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
