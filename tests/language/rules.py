"""The style rules of rules.toml, applied to files."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.language.names import vague_names
from tests.language.prose import Passage, nodes, passages

ROOT = Path(__file__).parents[2]
_RULES = Path(__file__).with_name("rules.toml")
_PAGES = {".md", ".txt"}


class Scope(StrEnum):
    """The files to which a rule applies."""

    ALL = "all"
    PAGES = "pages"


@dataclass(frozen=True, slots=True)
class Rule:
    """A word or phrase to avoid, its replacement, and an example of each."""

    pattern: re.Pattern[str]
    use: str
    scope: Scope
    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that breaks a rule."""

    file: str
    line: int
    words: str
    use: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: "{self.words}": use {self.use}'


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules of rules.toml."""
    return tuple(
        Rule(
            re.compile(table["pattern"], re.IGNORECASE),
            table["use"],
            Scope(table.get("scope", Scope.ALL)),
            table["bad"],
            table["good"],
        )
        for table in tomllib.loads(_RULES.read_text(encoding="utf-8"))["rule"]
    )


def violations(passage: Passage, scope: Scope) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and suggestion of each place at which a passage breaks a rule that applies to `scope`."""
    text, starts = _flattened(passage.text)
    for rule in rules():
        if rule.scope in {Scope.ALL, scope}:
            for match in rule.pattern.finditer(text):
                yield passage.line + starts[bisect_right(starts, (match.start(), 1 << 60)) - 1][1], match[0], rule.use


def findings(file: Path) -> list[Finding]:
    """Return the places at which a file breaks a rule."""
    scope = Scope.PAGES if file.suffix in _PAGES else Scope.ALL
    name = str(file.relative_to(ROOT))
    return [Finding(name, *place) for passage in passages(file) for place in violations(passage, scope)]


def name_findings(file: Path) -> list[Finding]:
    """Return the vague names in a Python file."""
    if file.suffix != ".py":
        return []
    name = str(file.relative_to(ROOT))
    return [Finding(name, *place) for place in vague_names(nodes(file))]


def _flattened(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text on one line with single spaces, and the (offset, number) at which each of its lines begins."""
    flat, starts, length = [], [(0, 0)], 0
    for number, line in enumerate(text.split("\n")):
        words = " ".join(line.split())
        if words:
            starts.append((length, number))
            flat.append(words)
            length += len(words) + 1
    return " ".join(flat), starts
