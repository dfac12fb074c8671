"""The runner of query translation tests passes correct cases, and reports each type of difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.sql.translation.cases import Case, cases_of
from tests.sql.translation.running import failure_of

CASES = list(cases_of(Path(__file__).with_name("cases")))
WINDOWS = next(case for case in CASES if case.name == "windows")
REFUSED = next(case for case in CASES if case.is_refused)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_passes(case: Case) -> None:
    assert failure_of(case) == ""


def wrong(**fields: Any) -> Case:
    """Return the case with a different expected output."""
    return replace(WINDOWS, outputs=({**WINDOWS.outputs[0], **fields},))


FAILURES: dict[str, tuple[Case, str]] = {
    "value": (wrong(value={"C": 2}), "wrong: out, record 1: the value is (1,), not (2,)"),
    "column": (wrong(value={"D": 2}), "wrong: out, record 1: D: there are only C BIGINT"),
    "key": (wrong(key="b"), "wrong: out, record 1: the key is ('a',), not ('b',)"),
    "window": (wrong(window={"start": 0, "end": 10}), "wrong: out, record 1: the window is (10, 20), not"),
    "timestamp": (wrong(timestamp=1), "wrong: out, record 1: the timestamp is 12, not 1"),
    "missing": (replace(WINDOWS, inputs=()), "0 records in out, not 1; no record failed"),
    "topic": (wrong(topic="other"), "there is no stream or table over other"),
    "refused": (replace(WINDOWS, statements="CREATE nonsense;"), "refused: "),
    "words": (replace(REFUSED, words=("elephant",)), "the refusal does not say elephant: "),
    "result": (
        replace(
            WINDOWS,
            statements=WINDOWS.statements + "CREATE TABLE u AS SELECT * FROM t WHERE c > 0;",
            inputs=({"topic": "out", "key": "a", "value": {"C": 2}, "window": {"start": 0, "end": 10}},),
        ),
        "an input is of out: a query that reads a result",
    ),
    "accepted": (replace(WINDOWS, is_refused=True), "accepted, but ksqlDB refuses it"),
    "columns": (
        replace(WINDOWS, sources=({"name": "T", "type": "table", "schema": "ID INT KEY, C BIGINT"},)),
        "T has the columns ID STRING, C BIGINT, not ID INTEGER, C BIGINT",
    ),
    "kind": (replace(WINDOWS, sources=({"name": "T", "type": "stream"},)), "T is not a stream"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_difference_is_reported(name: str) -> None:
    case, says = FAILURES[name]
    assert failure_of(case).startswith(says)
