"""The response to a malformed request has status 400 or 413, and is never a server error."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from forebay.http.messages import Answer, Request
from forebay.http.server import HttpServer
from forebay.queries.pages import QueryPages
from forebay.queries.sql_pages import SqlPages
from forebay.queries.stores import JobStores
from forebay.sql.program import program_of
from forebay.sql.queryable import queryable
from tests.queries.written import WrittenTask, job_of
from tests.sql.driven import stream

HOST = "127.0.0.1"
DIGITS = "1" * 5_000
STATEMENTS = stream("id STRING KEY, n INT") + (
    "CREATE TABLE totals WITH (HISTORY_RETENTION='1 DAY') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
    "CREATE TABLE hours AS SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;"
)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    stores: JobStores = job_of(WrittenTask())
    nothing: Any = list
    sql = SqlPages(queryable(lambda: program_of(STATEMENTS)), lambda: stores, nothing)
    pages = QueryPages(lambda: stores, silent_seconds=0.05)

    def answer(request: Request) -> Answer:
        return sql.answer(request) if request.path == ("sql",) else pages.answer(request)

    http_server = HttpServer(answer, HOST, 0)
    yield http_server
    http_server.close()


def status_of(server: HttpServer, request: bytes) -> int:
    with socket.create_connection((HOST, server.port), timeout=10) as connection:
        connection.sendall(request)
        return int(connection.makefile("rb").readline().split()[1])


def get(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()


def post(body: str, length: str = "") -> bytes:
    data = body.encode()
    head = f"POST /sql HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\nContent-Length: {length or len(data)}\r\n\r\n"
    return head.encode() + data


def ask(sql: str, **more: Any) -> bytes:
    return post(json.dumps({"sql": sql, **more}))


WRONG = {
    "a limit of 5,000 digits": get(f"/stores/plain?limit={DIGITS}"),
    "a time of 5,000 digits": get(f"/stores/windows/a?since={DIGITS}"),
    "a time beyond all times": get("/stores/windows/a?since=99999999999999999999"),
    "an offset of 5,000 digits": get(f"/stores/plain/a?at_least=in-0:{DIGITS}"),
    "a target that is not a URL": get("http://[::1"),
    "a path that is not a URL": get("//[::1/stores"),
    "LIMIT of 5,000 digits": ask(f"SELECT * FROM totals LIMIT {DIGITS};"),
    "a literal of 5,000 digits": ask(f"SELECT * FROM totals WHERE c = {DIGITS};"),
    "a duration of 5,000 digits": ask(f"EXPLAIN SELECT * FROM s WINDOW TUMBLING (SIZE {DIGITS} HOURS);"),
    "a moment beyond all times": ask(f"SELECT * FROM totals FOR SYSTEM_TIME AS OF {'9' * 30} WHERE id = 'a';"),
    "half of a surrogate pair": post('{"sql": "SELECT \'\\ud800\' AS x FROM totals;"}'),
    "half of a surrogate pair as a name": post('{"sql": "SELECT * FROM t\\ud800;"}'),
    "half of a surrogate pair as a field": post('{"\\ud800": 1, "sql": "SHOW TABLES;"}'),
    "JSON that is not an object": post('{"sql"'),
    "a number of 5,000 digits in JSON": post('{"sql": "SHOW TABLES;", "wait_ms": ' + DIGITS + "}"),
}


@pytest.mark.parametrize("request_", WRONG)
def test_malformed_requests_are_client_errors(server: HttpServer, request_: str) -> None:
    assert status_of(server, WRONG[request_]) == 400


def test_a_length_that_is_too_long_is_refused(server: HttpServer) -> None:
    assert status_of(server, post("{}", "1" * 18)) == 413
    assert status_of(server, post("{}", DIGITS)) in (400, 413)


@pytest.mark.parametrize("bound", [str((1 << 63) - 1), str(-(1 << 62))])
def test_window_bounds_of_any_size_are_accepted(server: HttpServer, bound: str) -> None:
    assert status_of(server, ask(f"SELECT * FROM hours WHERE id = 'a' AND WINDOWSTART >= {bound};")) != 500
