"""Rows of a push query arrive one by one. A response that ends with an error, or too early, raises an exception."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import click
import pytest

from forebay import dbapi
from forebay.cli.sql_client import SqlClient
from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.platform.ports import HOST

HEAD = {"columns": [{"name": "ID", "type": "STRING"}, {"name": "PRICE", "type": "DECIMAL(4, 2)"}]}
END = {"end": {"rows": 1}}


class Server:
    """A server that responds to every statement with the lines that a test sets."""

    def __init__(self) -> None:
        self.lines: Sequence[dict[str, Any]] = ()
        self.raw = b""
        self.sent = 0
        self.statements: list[str] = []
        self._http = HttpServer(self._answer, HOST, 0)
        self.cursor = dbapi.connect(f"http://{HOST}:{self._http.port}/").cursor()
        self.client = SqlClient(f"http://{HOST}:{self._http.port}/")

    def close(self) -> None:
        self.cursor.close()
        self._http.close()

    def _answer(self, request: Request) -> Answer:
        self.statements.append(json.loads(request.body or b"{}")["sql"])
        return Answer(200, "application/x-ndjson", self.raw or self._body())

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
    server.lines = [HEAD, {"row": {"ID": "a", "PRICE": 1.1}}, {"tombstone": {"ID": "a"}}, {"row": {"ID": "b"}}, END]
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
    for limited in ("LIMIT 1;", "limit 1 -- one", "LIMIT ${n};", "LIMIT\n1 ; /* one */"):
        assert server.cursor.execute(f"SELECT * FROM t {limited}").fetchall() == [("a", None)]
    for whole in ("WHERE name = 'LIMIT 1';", "WHERE rate_limit = 1;", "-- LIMIT 1", 'WHERE "limit" = 3'):
        with pytest.warns(dbapi.Warning, match="did not send all rows"):
            server.cursor.execute(f"SELECT * FROM t {whole}").fetchall()


@pytest.mark.parametrize("lines", [[], [HEAD], [HEAD, {"row": {"ID": "a"}}]])
def test_an_answer_without_an_end_is_cut_off(server: Server, lines: list[dict[str, Any]]) -> None:
    server.lines = lines
    with pytest.raises(dbapi.OperationalError, match="ended too early: run the statement again"):
        server.cursor.execute("SELECT * FROM t;").fetchall()
    with pytest.raises(click.ClickException, match="cut off: run the statement again"):
        list(server.client.lines("SELECT * FROM t;"))
    server.lines = [*lines, END, {"graph": {}}]
    assert list(server.client.lines("SELECT * FROM t;")) == server.lines


@pytest.mark.parametrize("body", [b"<h1>hello</h1>", b"[1]\n", b"{}", b'{"columns": 1}', b'{"columns": [', b"\xff\n"])
def test_an_answer_of_another_server_is_an_error_of_this_module(server: Server, body: bytes) -> None:
    server.lines = [HEAD, END]
    server.cursor.execute("SELECT * FROM t;")
    server.raw = body
    with pytest.raises(dbapi.Error):
        server.cursor.execute("SELECT * FROM t;")
    assert server.cursor.description is None
    with pytest.raises(click.ClickException):
        list(server.client.lines("SELECT * FROM t;"))


def test_a_statement_that_fails_leaves_no_columns_of_the_one_before(server: Server) -> None:
    server.lines = [HEAD, END]
    server.cursor.execute("SELECT * FROM t;")
    with pytest.raises(dbapi.ProgrammingError):
        server.cursor.execute("SELECT * FROM t;", [1])
    assert server.cursor.description is None


def test_a_statement_for_each_of_several_parameters(server: Server) -> None:
    server.lines = [{"columns": [{"name": "topic"}]}, {"row": {"topic": "in"}}, END]
    server.cursor.executemany("INSERT INTO s VALUES (?, ?);", [("a", -1), ("b", None)])
    assert server.statements == ["INSERT INTO s VALUES ( 'a',  -1);", "INSERT INTO s VALUES ( 'b',  NULL);"]
