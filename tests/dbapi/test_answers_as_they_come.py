"""Rows of a push query come one by one; an answer that ends in an error, or is not whole, says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

from forebay import dbapi
from forebay.http.server import Answer, HttpServer, Request
from forebay.platform.ports import HOST

HEAD = {"columns": [{"name": "ID", "type": "STRING"}, {"name": "PRICE", "type": "DECIMAL(4, 2)"}]}


class Server:
    """Answers every statement with the lines that a test sets."""

    def __init__(self) -> None:
        self.lines: Sequence[dict[str, Any]] = ()
        self.sent = 0
        self.statements: list[str] = []
        self._http = HttpServer(self._answer, HOST, 0)
        self.cursor = dbapi.connect(f"http://{HOST}:{self._http.port}/").cursor()

    def close(self) -> None:
        self.cursor.close()
        self._http.close()

    def _answer(self, request: Request) -> Answer:
        self.statements.append(json.loads(request.body or b"{}")["sql"])
        return Answer(200, "application/x-ndjson", self._body())

    def _body(self) -> Iterator[bytes]:
        for line in self.lines:
            self.sent += 1
            yield json.dumps(line).encode() + b"\n"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def test_deleted_rows_and_blank_lines_are_no_rows(server: Server) -> None:
    server.lines = [HEAD, {"row": {"ID": "a", "PRICE": 1.1}}, {"tombstone": {"ID": "a"}}, {"row": {"ID": "b"}}]
    assert server.cursor.execute("SELECT * FROM t EMIT CHANGES;").fetchall() == [
        ("a", Decimal("1.1")),
        ("b", None),
    ]


def test_an_error_after_rows_is_raised_when_it_is_reached(server: Server) -> None:
    server.lines = [HEAD, {"row": {"ID": "a"}}, {"error": "limit ANSWER_BYTES"}]
    cursor = server.cursor.execute("SELECT * FROM t EMIT CHANGES;")
    assert cursor.fetchone() == ("a", None)
    with pytest.raises(dbapi.DatabaseError, match="limit ANSWER_BYTES"):
        cursor.fetchone()


def test_an_answer_that_is_not_whole_is_a_warning_unless_the_statement_limits_it(server: Server) -> None:
    server.lines = [HEAD, {"row": {"ID": "a"}}, {"end": {"rows": 1, "more": True}}]
    with pytest.warns(dbapi.Warning, match="did not send all rows"):
        server.cursor.execute("SELECT * FROM t;").fetchall()
    assert server.cursor.execute("SELECT * FROM t LIMIT 1;").fetchall() == [("a", None)]


def test_a_statement_for_each_of_several_parameters(server: Server) -> None:
    server.lines = [{"columns": [{"name": "topic"}]}, {"row": {"topic": "in"}}]
    server.cursor.executemany("INSERT INTO s VALUES (?, ?);", [("a", -1), ("b", None)])
    assert server.statements == ["INSERT INTO s VALUES ( 'a',  -1);", "INSERT INTO s VALUES ( 'b',  NULL);"]
