"""A query with a too expensive expression is refused with status 400 and the limit's name. It blocks no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.http.messages import Request
from forebay.queries import sql_pages
from forebay.queries.sql_pages import SqlPages
from forebay.sql.queryable import queryable
from tests.sql.driven import Driven, stream
from tests.sql.test_queries import DrivenStores, DrivenTail

pytestmark = pytest.mark.long

STATEMENTS = stream("id STRING KEY, n INT") + "CREATE TABLE totals AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"


@pytest.fixture
def pages() -> SqlPages:
    driven = Driven(STATEMENTS, tasks=1)
    for key in ("a", "b", "c"):
        driven.send("in", key, {"N": 1})
    tail = DrivenTail([(("a",), (1,), 0), (("b",), (1,), 1)])
    return SqlPages(queryable(lambda: driven.program), lambda: DrivenStores(driven), lambda *_: tail)  # type: ignore[arg-type, return-value]


def ask(pages: SqlPages, sql: str) -> tuple[int, list[Any]]:
    answer = pages.answer(Request(("sql",), method="POST", body=json.dumps({"sql": sql}).encode(), accept=""))
    content = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return answer.status, [json.loads(line) for line in content.decode().split("\n") if line]


COSTLY = {
    "REPLACE(LPAD('', 1000000, 'a'), 'a', 'bbbbbbbbbb')": "TEXT_LETTERS",
    "TRANSFORM(GENERATE_SERIES(1, 90000), x => REDUCE(GENERATE_SERIES(1, 90000), x, (s, y) => s + y))": "EXPRESSION_MS",
    "REGEXP_REPLACE(LPAD('!', 500, 'a'), '(a|aa)+$', '')": "EXPRESSION_MS",
    "GENERATE_SERIES(1, 2000000000)": "ARRAY_ITEMS",
}


@pytest.mark.parametrize("expression", COSTLY)
@pytest.mark.parametrize("query", ["SELECT {} AS x FROM totals;", "SELECT c FROM totals WHERE {} IS NULL;"])
def test_a_pull_that_costs_too_much_is_answered_400(pages: SqlPages, query: str, expression: str) -> None:
    status, (answer,) = ask(pages, query.format(expression))
    assert status == 400
    assert COSTLY[expression] in answer["error"]


def test_a_push_that_costs_too_much_ends_with_the_limit(pages: SqlPages) -> None:
    status, lines = ask(pages, "SELECT LPAD('', 2000000000, 'a') AS x FROM totals EMIT CHANGES;")
    assert status == 200
    assert "TEXT_LETTERS" in lines[-1]["error"]


def test_an_answer_that_is_too_large_is_answered_400(pages: SqlPages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_pages, "ANSWER_BYTES", 2_000)
    assert ask(pages, "SELECT LPAD('', 500, 'a') AS x FROM totals;")[0] == 200
    status, (answer,) = ask(pages, "SELECT LPAD('', 1000, 'a') AS x FROM totals;")
    assert (status, "ANSWER_BYTES" in answer["error"]) == (400, True)
