"""The runner of cases with pull and push queries passes correct cases, and reports each type of difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sql.translation.asking import Question, failure_of_question, questions_of

QUESTIONS = list(questions_of(Path(__file__).with_name("questions")))
HEAD = [
    "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='{FORMAT}');",
    "CREATE TABLE t AS SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 MILLISECONDS) GROUP BY id;",
]
INPUTS = [{"topic": "in", "key": key, "value": {"N": at}, "timestamp": at} for at, key in enumerate("aba")]
PULL = "SELECT id, WINDOWEND, c FROM t WHERE id = 'a';"
PUSH = "SELECT * FROM s EMIT CHANGES LIMIT 2;"
PULLED = [{"header": {"schema": "`ID` STRING, `WINDOWEND` BIGINT, `C` BIGINT"}}, {"row": {"columns": ["a", 10, 2]}}]
PUSHED = [
    {"header": {"schema": "`ID` STRING KEY, `N` INTEGER"}},
    {"row": {"columns": ["a", 0]}},
    {"row": {"columns": ["b", 1]}},
    {"finalMessage": "Limit Reached"},
]


def failures(folder: Path, sql: str, answer: list[Any] | None) -> list[str]:
    test: dict[str, Any] = {"name": "x", "format": ["JSON", "AVRO"], "statements": [*HEAD, sql], "inputs": INPUTS}
    test |= {"expectedError": {"status": 400}} if answer is None else {"responses": [{"query": answer}]}
    (folder / "cases.json").write_text(json.dumps({"tests": [test]}))
    return [failure_of_question(question) for question in questions_of(folder)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.case.name)
def test_query_case_passes(question: Question) -> None:
    assert failure_of_question(question) == ""


@pytest.mark.parametrize(("sql", "answer"), [(PULL, PULLED), (PUSH, PUSHED), ("SELECT x FROM t;", None)])
def test_a_case_passes_in_each_format(tmp_path: Path, sql: str, answer: list[Any] | None) -> None:
    assert failures(tmp_path, sql, answer) == ["", ""]


@pytest.mark.parametrize(
    ("sql", "answer", "says"),
    [
        (PULL, PULLED[:1], "1 rows, not 0"),
        (PULL, [{"row": {"columns": ["a", 10, 3]}}], "the rows are [['a', 10, 2]], not [['a', 10, 3]]"),
        (PULL, [{"header": {"schema": "`ID` STRING"}}], "the columns are `ID` STRING, `WINDOWEND` BIGINT"),
        (PULL, None, "answered, but ksqlDB refuses it"),
        ("SELECT x FROM t;", PULLED, "refused with 400: line 1, column 8: there is no column X"),
        ("CREATE nonsense;", PULLED, "refused: "),
    ],
)
def test_a_difference_is_reported(tmp_path: Path, sql: str, answer: list[Any] | None, says: str) -> None:
    for failure in failures(tmp_path, sql, answer):
        assert failure.startswith(says)
