"""Push queries can select headers, partition and offset of a record, which are not in its row."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.http.messages import Request
from forebay.queries import sql_pushes
from forebay.queries.sql_pages import SqlPages
from forebay.sql.queryable import queryable
from tests.sql.driven import Driven
from tests.sql.test_queries import DrivenTail, ask, rows

HEADERS = "CREATE STREAM {} (id STRING KEY, n INT, {} {}) WITH (KAFKA_TOPIC='{}', VALUE_FORMAT='JSON');"
WITH_HEADERS = (
    HEADERS.format("one", "h", "BYTES HEADER('x')", "a")
    + HEADERS.format("all_of_them", "hs", "ARRAY<STRUCT<key STRING, value BYTES>> HEADERS", "b")
    + "CREATE STREAM o AS SELECT id, n FROM one;"
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM one", {"ID": "a", "N": 1, "H": "Mg=="}),
        ("SELECT h, id FROM one WHERE h IS NOT NULL", {"H": "Mg==", "ID": "a"}),
        ("SELECT hs[1]->value AS v FROM all_of_them", {"V": "MQ=="}),
        ("SELECT ROWPARTITION AS p, ROWOFFSET AS o, n FROM one", {"P": 1, "O": 0, "N": 1}),
        ("SELECT ROWOFFSET AS o, ROWTIME AS t FROM one WHERE ROWOFFSET = 1", {"O": 1, "T": 5}),
        ("SELECT ROWPARTITION AS p FROM o", {"P": 1}),
    ],
)
def test_a_push_has_headers_partition_and_offset(query: str, expected: dict[str, Any]) -> None:
    driven = Driven(WITH_HEADERS)
    records = [(("a",), (1,), 0), (("b",), (2,), 5)]
    pages = SqlPages(queryable(lambda: driven.program), list, lambda *_: DrivenTail(records))  # type: ignore[arg-type]
    assert rows(pages, f"{query} EMIT CHANGES LIMIT 1;") == [expected]


def test_push_query_without_matching_rows_sends_keepalives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_pushes, "_SIGN_SECONDS", 0.0)
    driven = Driven(WITH_HEADERS)
    tail = DrivenTail([(("a",), (1,), 0), (("b",), (2,), 5)])
    pages = SqlPages(queryable(lambda: driven.program), list, lambda *_: tail)  # type: ignore[arg-type]
    body = b"SELECT n FROM one WHERE n > 100 EMIT CHANGES;"
    answer = pages.answer(Request(("sql",), method="POST", body=body))
    assert not isinstance(answer.body, bytes)
    assert sum(piece.strip() == b"" for piece in answer.body) >= 2


def test_pull_query_refuses_partition_and_offset() -> None:
    driven = Driven(WITH_HEADERS + "CREATE TABLE t AS SELECT id, COUNT(*) AS c FROM one GROUP BY id;")
    pages = SqlPages(queryable(lambda: driven.program), list, list)  # type: ignore[arg-type]
    status, answer = ask(pages, "SELECT ROWPARTITION FROM t;")
    assert status == 400
    assert "its rows do not have it" in answer[0]["error"]
