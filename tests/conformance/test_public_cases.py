"""Every public case passes on every backend, and fails if its expectations are changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import case_files, load_cases
from conformance.runner import run_case
from forebay.testing.bench import Backend

CASES = Path(__file__).parents[1] / "data" / "cases"
PUBLIC = [(case["id"], case) for file in case_files(CASES) for case in load_cases(file)]


def test_all_public_cases_are_here() -> None:
    assert len(PUBLIC) == 148


@pytest.mark.parametrize("backend", list(Backend), ids=lambda backend: str(backend.value))
@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_case(case: Any, backend: Backend) -> None:
    result = run_case(case, 0, backend)
    assert result.passed, "\n".join([result.problem, *map(str, result.differences)])


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    results = [leaf for key, item in items for leaf in leaves(item, (*path, key))]
    return results or [path]


def expectations(case: Any) -> list[tuple[Any, ...]]:
    only_final = "caution" in case.get("topology", {})
    return [
        path
        for path in leaves(case)
        if ("expect" in path or path[0] == "expected")
        and "op" not in path
        and "topology" not in path
        and not (only_final and "final_table" not in path)
    ]


def change_value(case: Any, path: tuple[Any, ...]) -> Any:
    other = copy.deepcopy(case)
    at = other
    for key in path[:-1]:
        at = at[key]
    old = at[path[-1]]
    at[path[-1]] = old + 1 if isinstance(old, int) else f"{old}?" if isinstance(old, str) else ["?"]
    return other


@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_a_case_fails_when_any_of_its_expectations_is_changed(case: Any) -> None:
    paths = [path for path in expectations(case) if "unchecked" not in json.dumps(_at(case, path))]
    for path in paths[:: max(1, len(paths) // 12)]:
        assert not run_case(change_value(case, path), 0, Backend.IN_MEMORY).passed, path


def _at(case: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        case = case[key]
    return case
