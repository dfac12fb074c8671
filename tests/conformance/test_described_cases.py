"""Every public case of a topology has the expected results in the DSL, and fails if its expectations are changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from conformance.cases import case_files, load_cases
from conformance.described import run_case, shares_a_task
from forebay.cli.main import run

CASES = Path(__file__).parents[1] / "data" / "cases"
PUBLIC = [(c["id"], c) for file in case_files(CASES) for c in load_cases(file) if "topology" in c]
SPREAD = [(name, case) for name, case in PUBLIC if not shares_a_task(case, 3)]


def test_all_public_topology_cases_are_present() -> None:
    assert len(PUBLIC) == 60


@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_case(case: Any) -> None:
    result = run_case(case, 0)
    assert result.passed, "\n".join([result.problem, *map(str, result.differences)])


@pytest.mark.parametrize("case", [case for _, case in SPREAD], ids=[name for name, _ in SPREAD])
def test_a_case_without_a_shared_time_gives_the_same_in_three_tasks(case: Any) -> None:
    assert run_case(case, 0, tasks=3).passed


@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_a_case_fails_when_it_expects_another_result(case: Any) -> None:
    other = copy.deepcopy(case)
    expected = other["expected"]
    only_final = "caution" in case["topology"] or "emit_per_input" not in expected
    results = expected["final_table"] if only_final else expected["emit_per_input"]
    results.append({"key": "?", "value": "?", "ts": 1} if only_final else [{"key": "?"}])
    assert not run_case(other, 0).passed


def test_command_runs_the_described_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", str(CASES), "--backend", "dsl"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "60 passed, 0 failed"


def test_command_runs_the_described_cases_in_three_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", str(CASES), "--backend", "dsl", "--tasks", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(SPREAD)} passed, 0 failed"
    assert len(SPREAD) >= 40
    assert run(["conformance", str(CASES), "--tasks", "3"]) != 0
