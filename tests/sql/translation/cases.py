"""The cases of a file, with statements, records to send, and expected results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(\s*[\]}])', re.DOTALL)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A case of statements and records.

    Args:
        topics: Formats and schemas of the keys and values of topics, by name.
        is_refused: Whether the statements must be refused.
        words: Words that the message of a refusal must contain. ksqlDB's cases have none, because messages differ.
        sources: The streams and tables that must exist at the end, with their columns.
    """

    file: str
    name: str
    statements: str
    properties: dict[str, str]
    topics: dict[str, Json]
    inputs: tuple[Json, ...]
    outputs: tuple[Json, ...]
    is_refused: bool
    sources: tuple[Json, ...]
    words: tuple[str, ...] = ()


def cases_of(folder: Path) -> Iterator[Case]:
    """Yield the cases of a file, or of all `.json` files of a folder."""
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]:
        for test in read(path.read_text(encoding="utf-8")).get("tests", []):
            if test.get("enabled", True):
                yield from _cases_by_format(path.name, test)


def read(text: str) -> Any:
    """Return the content of a JSON text, which may have comments and trailing commas."""
    plain = _COMMENT.sub(lambda match: match[1] or "", text)
    plain = _TRAILING.sub(lambda match: match[1] or match[2], plain)
    return json.loads(plain, strict=False, parse_float=Decimal)


def _cases_by_format(file: str, test: Json) -> Iterator[Case]:
    """Yield a case for each of its formats."""
    formats = test.get("format") or [""]
    for form in formats:
        whole = _insert_format(test, form)
        yield Case(
            file,
            f"{whole['name']} - {form}" if form else whole["name"],
            "\n".join(whole.get("statements", [])),
            {name: str(value) for name, value in whole.get("properties", {}).items()},
            {topic["name"]: topic for topic in whole.get("topics", []) if isinstance(topic, dict)},
            tuple(whole.get("inputs", [])),
            tuple(whole.get("outputs", [])),
            "expectedException" in whole,
            tuple(whole.get("post", {}).get("sources", [])),
            tuple(whole.get("expectedException", {}).get("words", [])),
        )


def _insert_format(value: Any, form: str) -> Any:
    if isinstance(value, str):
        return value.replace("{FORMAT}", form)
    if isinstance(value, list):
        return [_insert_format(item, form) for item in value]
    return {name: _insert_format(part, form) for name, part in value.items()} if isinstance(value, dict) else value
