"""If statements change earlier ones, readers keep their columns by name. Incompatible changes are rejected."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import Driven

A = "CREATE STREAM a (k STRING KEY, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');"
B = "CREATE STREAM b (k STRING KEY, v INT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');"
READER = "CREATE STREAM p AS SELECT k, v FROM a;"


def declaration(columns: str, topic: str = "a", more: str = "") -> str:
    return f"CREATE OR REPLACE STREAM a ({columns}) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON'{more});"


REFUSED = {
    "a column in another place": (A + declaration("k STRING KEY, z INT, v INT"), "changed or moved"),
    "a column of another type": (A + declaration("k STRING KEY, v BIGINT"), "changed or moved"),
    "a column fewer": (A + declaration("k STRING KEY"), "would be missing"),
    "another key": (A + declaration("k INT KEY, v INT"), "key columns"),
    "another topic": (A + declaration("k STRING KEY, v INT", "b"), "topic"),
    "another format": (A + declaration("k STRING KEY, v INT", more=", KEY_FORMAT='JSON'"), "formats"),
    "another event time": (A + declaration("k STRING KEY, v INT, t BIGINT", more=", TIMESTAMP='T'"), "event time"),
    "a table for a stream": (
        A + "CREATE OR REPLACE TABLE a (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');",
        "kind",
    ),
    "a query's column in another place": (
        A + READER + "CREATE OR REPLACE STREAM p AS SELECT k, 1 AS z, v FROM a;",
        "changed or moved",
    ),
    "an INSERT INTO that lacks the new column": (
        A + B + READER + "INSERT INTO p SELECT k, v FROM b; CREATE OR REPLACE STREAM p AS SELECT k, v, 1 AS z FROM a;",
        "INSERTQUERY_1 writes it without Z INTEGER",
    ),
    "a query dropped that another reads": (
        A + READER + "CREATE STREAM q AS SELECT k, v FROM p; DROP STREAM p;",
        "Q (CSAS_Q_1) reads it",
    ),
    "a query dropped that INSERT INTO writes": (
        A + B + READER + "INSERT INTO p SELECT k, v FROM b; DROP STREAM p;",
        "INSERTQUERY_1 writes it",
    ),
    "a declaration dropped that is read": (A + READER + "DROP STREAM a;", "P (CSAS_P_0) reads it"),
    "DROP of the other kind": (A + "DROP TABLE a;", "write DROP STREAM A"),
    "DROP of nothing": (A + "DROP STREAM z;", "Z does not exist"),
    "a query over its own source": (A + "INSERT INTO a SELECT k, v FROM a;", "topics a -> a"),
    "a sink over its own source": (
        A + "CREATE STREAM o WITH (KAFKA_TOPIC='a') AS SELECT k, v FROM a;",
        "topics a -> a",
    ),
    "a circle of two queries": (A + READER + "INSERT INTO a SELECT k, v FROM p;", "topics P -> a -> P"),
    "a circle by a replaced query": (
        A + READER + "CREATE STREAM q AS SELECT k, v FROM p; CREATE OR REPLACE STREAM p AS SELECT k, v FROM q;",
        "topics Q -> P -> Q",
    ),
    "LIMIT of a stored query": (A + "CREATE STREAM o AS SELECT k, v FROM a LIMIT 2;", "LIMIT"),
    "LIMIT of INSERT INTO": (A + B + "INSERT INTO b SELECT k, v FROM a LIMIT 2;", "LIMIT"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_that_would_affect_a_reader_is_refused(case: str) -> None:
    sql, reason = REFUSED[case]
    with pytest.raises(SqlError, match=r"case\.sql:1:") as refused:
        program_of(sql, "case.sql")
    assert reason in str(refused.value)


Sent = list[tuple[str, dict[str, Any]]]
TAKEN: dict[str, tuple[str, Sent, list[tuple[Any, Any]]]] = {
    "a column is added at the end": (
        A + READER + declaration("k STRING KEY, v INT, z INT") + "CREATE STREAM q AS SELECT k, v, z FROM a;",
        [("a", {"v": 1, "z": 5})],
        [("x", (1,)), ("x", (1, 5))],
    ),
    "a column is added to a query that another reads": (
        A + READER + "CREATE STREAM q AS SELECT k, v + 1 AS w FROM p;"
        "CREATE OR REPLACE STREAM p AS SELECT k, v, 7 AS z FROM a WHERE v > 1;",
        [("a", {"v": 1}), ("a", {"v": 2})],
        [("x", (2, 7)), ("x", (3,))],
    ),
    "INSERT INTO continues after a replaced query": (
        A
        + B
        + READER
        + "INSERT INTO p SELECT k, v FROM b; CREATE OR REPLACE STREAM p AS SELECT k, v FROM a WHERE v > 1;",
        [("a", {"v": 1}), ("b", {"v": 1})],
        [("x", (1,))],
    ),
    "a declaration that is dropped and written again over another topic": (
        A + READER + "DROP STREAM a;"
        "CREATE STREAM a (k STRING KEY, s STRING, v INT) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON');"
        "CREATE STREAM q AS SELECT k, v, s FROM a;",
        [("a", {"v": 1}), ("c", {"s": "new", "v": 2})],
        [("x", (1,)), ("x", (2, "new"))],
    ),
    "DROP IF EXISTS of nothing": (
        A + READER + "DROP STREAM IF EXISTS z; DROP TABLE IF EXISTS z; DROP TYPE IF EXISTS z;",
        [("a", {"v": 1})],
        [("x", (1,))],
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_readers_keep_their_columns_by_name(case: str) -> None:
    sql, sent, rows = TAKEN[case]
    driven = Driven(sql)
    results = [row for topic, value in sent for row in driven.rows(topic, ("x", value))]
    assert sorted(results, key=repr) == sorted(rows, key=repr)
    assert driven.driver.errors == []
