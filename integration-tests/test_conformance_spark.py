"""`forebay conformance --backend spark` runs cases with the state of a real query, and a wrong case fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from job_process import PYTHON_PATH, ROOT

CASES = ROOT / "tests" / "data" / "cases"
WRONG = {
    "id": "wrong",
    "store": {"kind": "key_value"},
    "steps": [{"op": "put", "key": "a", "value": 1}, {"op": "get", "key": "a", "expect": 2}],
}
UNKNOWN = {"id": "unknown", "store": {"kind": "graph"}, "steps": []}


def shortest(file: Path) -> list[Any]:
    """Return the three cases of a file with the fewest steps."""
    cases = json.loads(file.read_text())["cases"]
    return sorted(cases, key=lambda case: len(case.get("steps", case.get("input", ()))))[:3]


def test_cases_of_every_file_pass_and_a_wrong_one_fails(tmp_path: Path) -> None:
    chosen = 0
    for file in sorted(CASES.glob("*.json")):
        cases = shortest(file)
        chosen += len(cases)
        (tmp_path / file.name).write_text(json.dumps({"format_version": 1, "cases": cases}))
    (tmp_path / "zz.json").write_text(json.dumps({"format_version": 1, "cases": [WRONG, UNKNOWN]}))
    done = subprocess.run(
        [sys.executable, "-m", "forebay.cli.main", "conformance", str(tmp_path), "--backend", "spark"],
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[-1] == f"{chosen} passed, 2 failed", done.stdout + done.stderr
    assert lines[-6:-1] == [
        "zz.json: 0 passed, 2 failed",
        "  FAILED wrong",
        "    steps[1] get: expected 2, got 1",
        "  FAILED unknown",
        "    unknown kind of store 'graph'",
    ]
    assert done.returncode == 1
