"""Budgets: the number of places that may still break a rule, by folder of code or page.

`python -m tests.language.budgets` lowers each budget to the current number of places. It never raises one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.language.rules import ROOT, Finding, findings, name_findings

FILE = Path(__file__).with_name("budgets.toml")
_HEAD = """# Places that still break a rule of rules.toml or names.py, by folder of code or page. The numbers only go
# down: `python -m tests.language.budgets` lowers them after a rewrite. What is not listed has no such place.

"""
CODE = ("services", "producers", "conformance", "charts", "benchmarks", "docker", "docs", "tests", "integration-tests")
PAGES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "charts/**/README.md", "charts/**/NOTES.txt")
_HERE = ROOT / "tests" / "language"


class Kind(StrEnum):
    """The kind of text whose places are counted."""

    PROSE = "prose"
    NAMES = "names"


def owner(file: Path) -> str:
    """Return the owner of a file's budget: the page itself, or the package, service or test folder of a code file."""
    path = file.relative_to(ROOT)
    if path.suffix in {".md", ".txt"}:
        return str(path)
    folders = path.parts[:-1]
    return "/".join(folders[:3] if folders[:2] == ("services", "forebay") else folders[:2]) or "."


@cache
def files() -> Mapping[str, list[Path]]:
    """Return the files that are checked, by owner."""
    found = {ROOT / "hatch_build.py", *(page for pattern in PAGES for page in ROOT.glob(pattern))}
    for folder in CODE:
        found |= {file for suffix in ("py", "pyx") for file in (ROOT / folder).rglob(f"*.{suffix}")}
    owned: dict[str, list[Path]] = {}
    for file in sorted(found):
        if _HERE not in file.parents:
            owned.setdefault(owner(file), []).append(file)
    return owned


def findings_of(name: str) -> dict[Kind, list[Finding]]:
    """Return the findings in an owner's files. Files that changed last come first."""
    results: dict[Kind, list[Finding]] = {Kind.PROSE: [], Kind.NAMES: []}
    for file in sorted(files()[name], key=lambda file: file.stat().st_mtime, reverse=True):
        results[Kind.PROSE] += findings(file)
        results[Kind.NAMES] += name_findings(file)
    return results


def budgets(kind: Kind) -> dict[str, int]:
    """Return the budgets by owner."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8")).get(kind, {})
    return {str(name): int(number) for name, number in table.items()}


def lowered(known: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    """Return the budgets, each lowered to its owner's count if that is less. Owners without findings are removed."""
    return {name: least for name, number in sorted(known.items()) if (least := min(number, counts.get(name, 0)))}


def write(numbers: Mapping[Kind, Mapping[str, int]]) -> None:
    """Write the budgets to the file."""
    tables = [
        f"[{kind}]\n" + "".join(f'"{name}" = {number}\n' for name, number in sorted(numbers[kind].items()))
        for kind in Kind
    ]
    FILE.write_text(_HEAD + "\n".join(tables), encoding="utf-8")


def main() -> None:
    """Lower each budget to the current number of places."""
    places = {name: findings_of(name) for name in files()}
    counts = {kind: {name: len(places[name][kind]) for name in places} for kind in Kind}
    write({kind: lowered(budgets(kind), counts[kind]) for kind in Kind})


if __name__ == "__main__":
    main()
