"""Records of many fields are created by keyword, so that a reader sees which value belongs to which field."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from forebay.records import Record

ROOT = Path(__file__).resolve().parents[1]
MODELS = sorted(path.parent.name for path in ROOT.glob("services/*/model.py"))
MOST = 4


def records(service: str) -> set[str]:
    result = vars(importlib.import_module(f"{service}.model")).items()
    return {name for name, item in result if isinstance(item, type) and issubclass(item, Record)}


def calls(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, line and number of positional arguments of each call by name. Starred arguments count as too many."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            starred = any(isinstance(argument, ast.Starred) for argument in node.args)
            yield node.func.id, node.lineno, MOST + 1 if starred else len(node.args)


@pytest.mark.parametrize("service", MODELS)
def test_a_service_and_its_producers_name_the_fields(service: str) -> None:
    names = records(service)
    places = [*(ROOT / "services" / service).glob("*.py")]
    places += [path for path in (ROOT / "producers").glob("*.py") if f"from {service}.model import" in path.read_text()]
    assert names
    assert [
        f"{path.name}:{line} {name}"
        for path in places
        for name, line, given in calls(path)
        if name in names and given > MOST
    ] == []
