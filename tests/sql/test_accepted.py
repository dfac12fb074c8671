"""Statements that ksqlDB accepts are accepted, and have the same results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import forebay.testing.driver as driver_module
from forebay.cli.sql_shell import Session
from forebay.serde.subjects import LocalSubjects, connect
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import Driven

A = "CREATE STREAM a (k STRING KEY, v DOUBLE) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');"
C = "(k BIGINT {0}, v DOUBLE) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', KEY_FORMAT='JSON', TIMESTAMP='K');"
CASES: dict[str, list[tuple[Any, Any, int]]] = {
    A + "CREATE STREAM b AS SELECT * FROM a PARTITION BY ROWTIME;": [(3, (1.5, "7"), 3)],
    A + "CREATE STREAM b AS SELECT * FROM a PARTITION BY ROWOFFSET;": [(0, (1.5, "7"), 3)],
    A + "CREATE STREAM b WITH (KEY_FORMAT='JSON') AS SELECT * FROM a PARTITION BY v, ROWPARTITION;": [
        ((1.5, 0), ("7",), 3)
    ],
    A + "CREATE STREAM b AS SELECT ROWTIME AS t, v FROM a PARTITION BY ROWTIME;": [(3, (1.5,), 3)],
    f"CREATE STREAM c {C.format('KEY')} CREATE STREAM b AS SELECT k, v FROM c;": [(7, (1.5,), 7)],
    f"CREATE TABLE c {C.format('PRIMARY KEY')} CREATE TABLE b AS SELECT k, v FROM c;": [(7, (1.5,), 7)],
    A + "CREATE STREAM b WITH (TIMESTAMP='N') AS "
    "SELECT CAST(k AS BIGINT) AS n, v FROM a PARTITION BY CAST(k AS BIGINT);": [(7, (1.5,), 7)],
    A + "SET 'ksql.persistence.wrap.single.values'='false'; CREATE STREAM b AS SELECT k, v FROM a;"
    "CREATE STREAM c (k STRING KEY, w DOUBLE) WITH (KAFKA_TOPIC='B', VALUE_FORMAT='JSON');"
    "CREATE STREAM d WITH (WRAP_SINGLE_VALUE=true) AS SELECT k, w FROM c;": [("7", (1.5,), 3), ("7", (1.5,), 3)],
    A + "CREATE STREAM b AS SELECT k, v FROM a WHERE v > 5;"
    "INSERT INTO b WITH (QUERY_ID='second') SELECT k, v FROM a;": [("7", (1.5,), 3)],
}
FORMATS = ["AVRO", "PROTOBUF", "JSON_SR"]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "connect_nowhere", lambda: None)
    connect(LocalSubjects())


@pytest.mark.parametrize("sql", CASES)
def test_a_statement_gives_what_ksqldb_gives(sql: str) -> None:
    driven = Driven(sql, tasks=1)
    assert driven.send("a", "7", {"v": 1.5}, 3) == CASES[sql]
    assert driven.driver.errors == []


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.usefixtures("registry")
def test_columns_left_out_are_those_that_the_file_writes(kind: str) -> None:
    sql = (
        f"CREATE STREAM b WITH (KAFKA_TOPIC='b', FORMAT='{kind}') AS SELECT k AS i, v, 'x' AS \"lower\" FROM a;"
        f"CREATE STREAM c WITH (KAFKA_TOPIC='b', FORMAT='{kind}');"
        f"CREATE TABLE t (i STRING PRIMARY KEY) WITH (KAFKA_TOPIC='b', FORMAT='{kind}');"
        "CREATE STREAM d WITH (FORMAT='JSON') AS SELECT * FROM c;"
        "CREATE TABLE u WITH (FORMAT='JSON') AS SELECT i, lower FROM t;"
    )
    driven = Driven(A + sql, tasks=1)
    assert [value for _, value, _ in driven.send("a", "7", {"v": 1.5}, 3)][1:] == [(1.5, "x"), ("x",)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "INSERT INTO b WITH (QUERY_ID='x') SELECT * FROM a; INSERT INTO b WITH (QUERY_ID='X') SELECT * FROM a;",
            "QUERY_ID",
        ),
        ("INSERT INTO b WITH (KAFKA_TOPIC='x') SELECT * FROM a;", "INSERT INTO takes QUERY_ID alone"),
    ],
)
def test_queries_have_one_name_each(sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        program_of(f"{A}CREATE STREAM b AS SELECT * FROM a;{sql}")


class Client:
    """HTTP client that records the requests of a shell."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def lines(self, sql: str) -> Iterator[dict[str, Any]]:
        self.sent.append(sql)
        return iter(())


def test_set_in_a_shell_applies_to_later_statements() -> None:
    client: Any = Client()
    session = Session(client)
    for line in ("SET 'a'='it''s';", "SHOW TABLES;", "UNSET 'a';", "SHOW STREAMS; SHOW TYPES;"):
        list(session.answers(line))
    assert client.sent == ["SET 'a'='it''s'; SHOW TABLES;", "SHOW STREAMS;", "SHOW TYPES;"]
