"""In streams without key columns, records have no key, even if the records of the topic have one."""

from __future__ import annotations

import pytest

import forebay.testing.driver as driver_module
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import Driven, raw_output, stream

SQL = {
    "a query": "CREATE STREAM o AS SELECT n + 1 AS m FROM s;",
    "everything": "CREATE STREAM o AS SELECT * FROM s;",
    "a condition": "CREATE STREAM o AS SELECT n FROM s WHERE n > 0;",
    "a query of a query": "CREATE STREAM p AS SELECT n FROM s; CREATE STREAM o AS SELECT n FROM p;",
    "INSERT": "CREATE STREAM o (n INT) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON'); INSERT INTO o SELECT n FROM s;",
    "PARTITION BY NULL": "CREATE STREAM o AS SELECT n FROM s PARTITION BY NULL;",
    "EXPLODE": "CREATE STREAM o AS SELECT EXPLODE(ARRAY[n]) AS m FROM s;",
    "a join": "CREATE TABLE t (n INT PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
    "CREATE STREAM j AS SELECT s.n AS n, w FROM s LEFT JOIN t ON s.n = t.n; CREATE STREAM o AS SELECT n, w FROM j "
    "PARTITION BY NULL;",
}


@pytest.fixture(autouse=True)
def raw_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test driver show keys as bytes."""
    monkeypatch.setattr(driver_module, "show_output", raw_output)


@pytest.mark.parametrize("query", SQL)
@pytest.mark.parametrize("key", ["a key", None])
def test_results_of_such_a_stream_have_no_key(query: str, key: str | None) -> None:
    driven = Driven(stream("n INT") + SQL[query])
    driven.send("in", key, {"n": 1})
    assert {item.key for item in driven.sent if item.topic == "O"} == {None}
    assert not driven.driver.errors


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='NONE');",
            "VALUE_FORMAT NONE writes no columns",
        ),
        ("CREATE STREAM s (k INT KEY, n INT) WITH (KAFKA_TOPIC='in', KEY_FORMAT='NONE', VALUE_FORMAT='JSON');", "NONE"),
        (stream("n INT") + "CREATE STREAM o WITH (VALUE_FORMAT='NONE') AS SELECT n FROM s;", "there is N: write JSON"),
        (
            "CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='NONE');"
            "CREATE STREAM o AS SELECT k, ABS(k) AS n FROM s;",
            "there is N: write JSON",
        ),
    ],
)
def test_columns_need_a_format_that_holds_them(sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        program_of(sql)
