"""The shell of `forebay sql` handles variables and scripts itself, and sends statements to the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.sql_session import Session
from forebay.http.messages import Request
from forebay.queries.sql_requests import read
from forebay.sql.errors import SqlError
from forebay.sql.syntax import Select

CREATE = "CREATE STREAM s (id STRING KEY, n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"


class Client:
    """HTTP client that records the requests of a session."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def lines(self, sql: str) -> Iterator[dict[str, Any]]:
        self.sent.append(sql)
        return iter(())


@pytest.fixture
def client() -> Any:
    return Client()


@pytest.fixture
def session(client: Any) -> Session:
    return Session(client)


def rows(session: Session, text: str) -> list[Any]:
    """Return the rows of a response of the session itself."""
    return [list(line["row"].values()) for lines in session.answers(text) for line in lines if "row" in line]


def test_variable_applies_to_later_statements(client: Client, session: Session) -> None:
    for text in ("DEFINE t = 'totals';", "SELECT * FROM ${t};", "DEFINE n = '3'; SELECT * FROM ${T} LIMIT ${n};"):
        rows(session, text)
    assert client.sent == ["SELECT * FROM totals;", "SELECT * FROM totals LIMIT 3;"]


def test_undefine_removes_a_variable(client: Client, session: Session) -> None:
    rows(session, "DEFINE t = 'totals'; UNDEFINE t;")
    with pytest.raises(SqlError, match="there is no variable t"):
        rows(session, "SELECT * FROM ${t};")
    assert client.sent == []


def test_show_variables_lists_session_variables_or_asks_the_server(client: Client, session: Session) -> None:
    assert rows(session, "SHOW VARIABLES;") == []
    assert client.sent == ["SHOW VARIABLES;"]
    assert rows(session, "DEFINE b = 'x'; DEFINE a = 'it''s'; SHOW VARIABLES;") == [["A", "it's"], ["B", "x"]]
    assert client.sent == ["SHOW VARIABLES;"]


def test_invalid_input_changes_no_variable(session: Session) -> None:
    with pytest.raises(SqlError):
        rows(session, "DEFINE a = '1'; SELECT ${missing} FROM t;")
    with pytest.raises(SqlError, match="there is no variable a"):
        rows(session, "SELECT ${a} FROM t;")


def test_script_is_read_by_the_client_and_sent_as_one_request(client: Client, session: Session, tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("CREATE TABLE t AS SELECT id, COUNT(*) AS ${c} FROM s GROUP BY id;")
    (tmp_path / "all.sql").write_text(f"DEFINE c = 'number';\n{CREATE}\nRUN SCRIPT 'more.sql';")
    rows(session, f"RUN SCRIPT '{tmp_path / 'all.sql'}';")
    assert client.sent == [f"{CREATE}\nCREATE TABLE t AS SELECT id, COUNT(*) AS number FROM s GROUP BY id;\n"]
    rows(session, "SELECT ${c} FROM t WHERE id = 'a';")
    assert client.sent[1:] == ["SELECT number FROM t WHERE id = 'a';"]


def test_script_of_queries_and_settings_is_sent_statement_by_statement(
    client: Client, session: Session, tmp_path: Path
) -> None:
    (tmp_path / "ask.sql").write_text("SET 'auto.offset.reset'='earliest'; SHOW TABLES; SELECT * FROM t;")
    rows(session, f"RUN SCRIPT '{tmp_path / 'ask.sql'}';")
    prefix = "SET 'auto.offset.reset'='earliest'; "
    assert client.sent == [f"{prefix}SHOW TABLES;", f"{prefix}SELECT * FROM t;"]


def test_a_script_that_can_not_be_read_is_reported_with_its_place(client: Client, session: Session) -> None:
    with pytest.raises(SqlError, match=r"line 1, column 1: the file /no/such.sql can't be read"):
        rows(session, "RUN SCRIPT '/no/such.sql';")
    with pytest.raises(SqlError):
        rows(session, "RUN SCRIPT nothing;")
    assert client.sent == []


def test_type_defined_in_an_earlier_request_is_known_to_a_script(
    client: Client, session: Session, tmp_path: Path
) -> None:
    rows(session, "CREATE TYPE point AS STRUCT<x INT, y INT>;")
    (tmp_path / "a.sql").write_text("CREATE STREAM p (at point) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');")
    rows(session, f"RUN SCRIPT '{tmp_path / 'a.sql'}';")
    assert len(client.sent) == 2


def test_a_request_may_define_variables_before_its_statement() -> None:
    asked = read(Request(("sql",), method="POST", body=b"DEFINE t = 'totals'; SELECT * FROM ${t};"), lower=False)
    assert isinstance(asked.statement, Select)
    assert asked.statement.query.source.name == "TOTALS"
