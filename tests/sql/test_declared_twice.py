"""If several sources are declared over one topic, each query reads the topic as its own source declares it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.driven import Driven

STREAM = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
CASES: dict[str, tuple[str, list[tuple[Any, Any]]]] = {
    "fewer columns in another order": (
        "CREATE STREAM t (w STRING, k STRING KEY) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE STREAM a AS SELECT k, v FROM s; CREATE STREAM b AS SELECT k, w FROM t;",
        [("x", (1,)), ("x", ("one",)), ("x", (2,)), ("x", ("two",))],
    ),
    "a stream and a table": (
        "CREATE TABLE t (k STRING PRIMARY KEY, w STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE STREAM a AS SELECT k, v FROM s; CREATE TABLE b AS SELECT w, COUNT(*) AS n FROM t GROUP BY w;",
        [("x", (1,)), ("one", (1,)), ("x", (2,)), ("one", (0,)), ("two", (1,))],
    ),
    "with and without a key": (
        "CREATE STREAM t (w STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE STREAM a AS SELECT k, v FROM s; CREATE STREAM b AS SELECT w FROM t;",
        [("x", (1,)), (None, ("one",)), ("x", (2,)), (None, ("two",))],
    ),
    "a text and its columns": (
        "CREATE STREAM t (k STRING KEY, w STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='KAFKA');"
        "CREATE STREAM a AS SELECT k, v FROM s;"
        "CREATE STREAM b WITH (VALUE_FORMAT='JSON') AS SELECT k, LEN(w) AS n FROM t;",
        [("x", (1,)), ("x", (20,)), ("x", (2,)), ("x", (20,))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_declaration_reads_the_topic_with_its_own_columns(case: str) -> None:
    sql, rows = CASES[case]
    driven = Driven(STREAM + sql, tasks=1)
    sent = ({"v": 1, "w": "one"}, {"v": 2, "w": "two"})
    assert [row for value in sent for row in driven.rows("in", ("x", value))] == rows
    assert driven.driver.errors == []


def test_each_declaration_uses_its_own_timestamp() -> None:
    driven = Driven(
        STREAM + "CREATE STREAM t (k STRING KEY, at BIGINT) "
        "WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', TIMESTAMP='AT');"
        "CREATE STREAM a AS SELECT k, v FROM s; CREATE STREAM b AS SELECT k, at FROM t;"
    )
    assert driven.send("in", "x", {"v": 1, "at": 77}, 5) == [("x", (1,), 5), ("x", (77,), 77)]
