"""The runner fails unknown cases and reports differences. Its exit code is 0 only if all cases passed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.runner import run_case
from forebay.cli.main import run
from forebay.testing.bench import Backend

STORE = {"store": {"kind": "key_value"}}
PUT = {"op": "put", "key": "a", "value": 1}
GET = {"op": "get", "key": "a", "expect": 1}
COUNT = {"op": "windowed_aggregate", "window": "tumbling", "source": "s", "size_ms": 10, "grace_ms": 0}
WINDOWED: dict[str, Any] = {
    "topology": {**COUNT, "aggregate": "count", "emit": "update"},
    "input": [],
    "expected": {"emit_per_input": []},
}

UNKNOWN: dict[str, tuple[Any, str]] = {
    "an operation": ({**STORE, "steps": [{"op": "frobnicate"}]}, "steps[0] frobnicate: unknown operation"),
    "a private method": ({**STORE, "steps": [{"op": "_key", "key": 1}]}, "unknown operation"),
    "an attribute": ({**STORE, "steps": [{"op": "keys"}]}, "unknown operation"),
    "a step's field": ({**STORE, "steps": [{**GET, "colour": "red"}]}, "colour"),
    "a missing field": ({**STORE, "steps": [{"op": "get", "expect": 1}]}, "key"),
    "an error": ({**STORE, "steps": [{**GET, "expect_error": "boom"}]}, "unknown expect_error 'boom'"),
    "a kind of store": ({"store": {"kind": "graph"}, "steps": [PUT]}, "unknown kind of store 'graph'"),
    "an option of a store": ({"store": {"kind": "lru", "max_entries": 1, "x": 1}, "steps": [PUT]}, "unknown fields: x"),
    "an op of a topology": ({**WINDOWED, "topology": {"op": "sort"}}, "unknown op of a topology 'sort'"),
    "an option of a topology": ({**WINDOWED, "topology": {**WINDOWED["topology"], "x": 1}}, "unknown fields: x"),
    "an aggregate": ({**WINDOWED, "topology": {**WINDOWED["topology"], "aggregate": "median"}}, "unknown aggregate"),
    "an emit": ({**WINDOWED, "topology": {**WINDOWED["topology"], "emit": "never"}}, "unknown emit 'never'"),
    "a window": ({**WINDOWED, "topology": {**WINDOWED["topology"], "window": "round"}}, "unknown window 'round'"),
    "an expectation": ({**WINDOWED, "expected": {"speed": 9}}, "expected has unknown fields: speed"),
    "a topic": (
        {**WINDOWED, "input": [{"topic": "t", "key": "a", "value": 1, "ts": 0}]},
        "does not read the topic 't'",
    ),
    "nothing checked": ({**STORE, "steps": [PUT]}, "its steps expect nothing"),
    "nothing expected": ({**WINDOWED, "expected": {}}, "it expects nothing"),
    "an expectation of null": ({**WINDOWED, "expected": {"emit_per_input": None}}, "emit_per_input is null"),
    "no object": ("text", "it is not an object"),
    "no case at all": ({"id": "x"}, "case lacks advance_ms"),
    "a step that is none": ({**STORE, "steps": ["put"]}, "a step is an object with an op"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_unknown_names_fail(what: str) -> None:
    case, message = UNKNOWN[what]
    result = run_case(case, 0, Backend.IN_MEMORY)
    assert not result.passed
    assert message in result.problem


def test_an_exception_is_a_failure_of_its_case_alone() -> None:
    result = run_case({**STORE, "steps": [{"op": "put_all", "entries": 5}]}, 0, Backend.IN_MEMORY)
    assert "TypeError" in result.problem


def test_an_expected_error_that_does_not_come_is_a_failure() -> None:
    result = run_case({**STORE, "steps": [{**PUT, "expect_error": "null_key"}]}, 0, Backend.IN_MEMORY)
    assert "error null_key" in str(result.differences[0])


def test_an_error_that_is_not_expected_is_a_failure() -> None:
    result = run_case({**STORE, "steps": [{"op": "get", "key": None, "expect": None}]}, 0, Backend.IN_MEMORY)
    assert "null" in str(result.differences[0])


def write(directory: Path, name: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps({"suite": "s", "format_version": 1, "cases": content})
    (directory / name).write_text(text)


def test_the_command_prints_each_file_each_failure_and_the_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.json", [{"id": "good", **STORE, "steps": [PUT, GET]}])
    write(tmp_path, "b.json", [{"id": "bad", **STORE, "steps": [PUT, {**GET, "expect": 2}]}])
    write(tmp_path, "c.json", "{")
    write(tmp_path, "d.json", '{"format_version": 2, "cases": []}')
    assert run(["conformance", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a.json: 1 passed, 0 failed"
    assert lines[1:4] == ["b.json: 0 passed, 1 failed", "  FAILED bad", "    steps[1] get: expected 2, got 1"]
    assert "can't be read" in lines[6]
    assert "format_version 2" in lines[9]
    assert lines[-1] == "1 passed, 3 failed"


@pytest.mark.parametrize("backend", [backend.value for backend in Backend])
def test_the_exit_code_is_0_when_all_pass(tmp_path: Path, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a.json", [{"id": "good", **STORE, "steps": [PUT, GET]}])
    assert run(["conformance", str(tmp_path), "--backend", backend]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_a_directory_without_cases_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", str(tmp_path)]) == 1
    assert "holds no case files" in capsys.readouterr().err


def test_an_unknown_backend_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conformance", str(tmp_path), "--backend", "cloud"]) == 2
    assert "in_memory" in capsys.readouterr().err
