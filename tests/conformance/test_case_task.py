"""Every public case passes on a state task that reloads its state from storage at each commit."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.cases import case_files, load_cases
from conformance.runner import make_script
from conformance.script import Declarations, Outcome
from conformance.task import CHECKPOINT, decode_outcomes, encode_outcomes, run_steps
from tests.conformance.test_public_cases import CASES
from tests.runtime.simulator.state import Store

pytestmark = pytest.mark.long

PUBLIC = [(case["id"], case) for file in case_files(CASES) for case in load_cases(file)]


def outcomes(case: Any, batches: list[range] | None = None) -> list[Outcome]:
    store, result = Store(), {}
    for steps in batches or make_script(case, Declarations()).batches():
        result.update(run_steps(case, 3, steps, store.storage(CHECKPOINT)))
    return [result[step] for step in sorted(result)]


def one_by_one(case: Any) -> list[range]:
    return [range(step, step + 1) for step in range(make_script(case, Declarations()).steps())]


@pytest.mark.parametrize("case", [case for _, case in PUBLIC], ids=[name for name, _ in PUBLIC])
def test_case(case: Any) -> None:
    script = make_script(case, Declarations())
    assert list(script.differences(outcomes(case))) == []
    assert list(script.differences(outcomes(case, one_by_one(case)))) == []


def test_writes_share_a_batch_and_reads_see_committed_writes() -> None:
    operations = ["put", "put", "get", "get", "delete", "get"]
    steps = [{"op": op, "key": "a", **({"value": 1} if op == "put" else {})} for op in operations]
    script = make_script({"store": {"kind": "key_value"}, "steps": steps}, Declarations())
    assert script.batches() == [range(2), range(2, 4), range(4, 5), range(5, 6)]


def test_each_record_of_a_topology_is_a_batch_of_its_own() -> None:
    (case, *_) = [case for _, case in PUBLIC if "topology" in case and len(case["input"]) > 3]
    assert make_script(case, Declarations()).batches() == one_by_one(case)


def test_failed_step_does_not_change_the_state() -> None:
    steps = [
        {"op": "put", "key": "a", "value": 1},
        {"op": "put_all", "entries": [["a", 2], [None, 3]], "expect_error": "null_key"},
        {"op": "get", "key": "a", "expect": 1},
    ]
    _, failed, read = outcomes({"store": {"kind": "key_value"}, "steps": steps}, [range(3)])
    assert (failed.error, read.value) == ("NullKeyError", 1)


def test_outcomes_survive_as_text() -> None:
    known = {0: Outcome([{"key": None}, "é"]), 12: Outcome(error="NullKeyError", text="the key is null")}
    assert decode_outcomes(encode_outcomes(known)) == known
