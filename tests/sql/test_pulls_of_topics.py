"""Pull queries of streams and source tables read their topics to the end, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from forebay.builder.keys import Windowed
from forebay.processor.messages import Origin
from forebay.queries import topic_scans
from forebay.queries.sql_pages import SqlPages
from forebay.sql.program import program_of
from forebay.sql.queryable import queryable
from forebay.time.base import Window
from tests.sql.test_queries import ask, rows

HEAD = """
CREATE STREAM s (id STRING KEY, n INT, h BYTES HEADER('x')) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE SOURCE TABLE t (id STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE SOURCE TABLE w (id STRING PRIMARY KEY, n INT)
  WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 MILLISECONDS');
CREATE STREAM o AS SELECT id, n FROM s;
"""
RECORDS = [("a", 1), ("b", 2), ("a", 3), ("b", None), ("c", 4), (None, 5)]


class Topic:
    """A reader that returns a topic's records up to its end."""

    closed = 0

    def __init__(self, source: Any, from_beginning: bool, stops_at_end: bool) -> None:
        assert (from_beginning, stops_at_end) == (True, True)
        self._window = source.windowing

    def __iter__(self) -> Iterator[Any]:
        yield None
        for offset, (name, n) in enumerate(RECORDS):
            key: Any = None if name is None else (name,)
            if self._window is not None and key is not None:
                key = Windowed(key, Window(offset // 2 * 10, offset // 2 * 10 + 10))
            yield key, None if n is None else (n,), offset, Origin(0, offset, [("x", b"y")])

    def close(self) -> None:
        Topic.closed += 1


@pytest.fixture
def pages() -> SqlPages:
    program = program_of(HEAD)
    return SqlPages(queryable(lambda: program), list, Topic)  # type: ignore[arg-type]


PULLS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id, n FROM s;": [("a", 1), ("b", 2), ("a", 3), ("c", 4), (None, 5)],
    "SELECT * FROM o WHERE id = 'a';": [("a", 1), ("a", 3)],
    "SELECT id, n FROM s WHERE n > 1 LIMIT 2;": [("b", 2), ("a", 3)],
    "SELECT n, ROWTIME AS t FROM s WHERE n = 3;": [(3, 2)],
    "SELECT h FROM s LIMIT 1;": [("eQ==",)],
    "SELECT * FROM t;": [("a", 3), ("c", 4)],
    "SELECT * FROM t WHERE id IN ('a', 'b');": [("a", 3)],
    "SELECT id, n + 1 AS m FROM t WHERE n = 1;": [],
    "SELECT * FROM w WHERE id = 'a';": [("a", 0, 10, 1), ("a", 10, 20, 3)],
    "SELECT n FROM w WHERE WINDOWSTART >= 10;": [(3,), (4,)],
}


@pytest.mark.parametrize("sql", PULLS)
def test_a_topic_is_read_to_its_end(pages: SqlPages, sql: str) -> None:
    closed = Topic.closed
    assert [tuple(row.values()) for row in rows(pages, sql)] == PULLS[sql]
    assert Topic.closed == closed + 1


@pytest.mark.parametrize("name", ["ROWPARTITION", "ROWOFFSET"])
def test_partition_and_offset_are_refused_in_pull_queries(pages: SqlPages, name: str) -> None:
    for sql in (f"SELECT {name} AS at FROM s;", f"SELECT n FROM t WHERE {name} = 1;"):
        assert ask(pages, sql)[0] == 400


@pytest.mark.parametrize("condition", ["", " WHERE n > 1", " WHERE id > 'a' AND id < 'c'", " WHERE id > 'a' OR n = 1"])
@pytest.mark.parametrize("source", ["s", "t", "total"])
def test_table_scans_are_refused_if_disabled(condition: str, source: str) -> None:
    setting = "SET 'ksql.query.pull.table.scan.enabled'='false';"
    program = program_of(f"{HEAD}{setting}CREATE TABLE total AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;")
    pages = SqlPages(queryable(lambda: program), list, Topic)  # type: ignore[arg-type]
    status, (answer,) = ask(pages, f"SELECT * FROM {source}{condition};")
    assert (status, "ksql.query.pull.table.scan.enabled is false" in answer["error"]) == (400, True)
    if source != "total":
        assert rows(pages, f"SELECT n FROM {source} WHERE id = 'c';") == [{"N": 4}]
        ranged = f"SELECT n FROM {source} WHERE id > 'b';"
        assert rows(pages, ranged)[:1] == [{"N": 4}]
        program.settings["ksql.query.pull.range.scan.enabled"] = "false"
        assert ask(SqlPages(queryable(lambda: program), list, Topic), ranged)[0] == 400  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["s", "t"])
def test_limit_clauses_are_refused_if_disabled(source: str) -> None:
    program = program_of(f"{HEAD}SET 'ksql.query.pull.limit.clause.enabled'='false';")
    pages = SqlPages(queryable(lambda: program), list, Topic)  # type: ignore[arg-type]
    status, (answer,) = ask(pages, f"SELECT n FROM {source} LIMIT 1;")
    assert (status, "ksql.query.pull.limit.clause.enabled is false" in answer["error"]) == (400, True)
    assert rows(pages, f"SELECT n FROM {source} WHERE id = 'c';") == [{"N": 4}]


def test_answer_reports_whether_more_rows_exist(pages: SqlPages) -> None:
    assert ask(pages, "SELECT n FROM s LIMIT 5;")[1][-1] == {"end": {"rows": 5, "more": False}}
    assert ask(pages, "SELECT n FROM s LIMIT 4;")[1][-1] == {"end": {"rows": 4, "more": True}}


@pytest.mark.parametrize(
    ("limit", "value", "sql"),
    [
        ("READ_RECORDS", 5, "SELECT * FROM s;"),
        ("READ_RECORDS", 5, "SELECT * FROM t;"),
        ("TABLE_ROWS", 1, "SELECT * FROM t;"),
        ("READ_SECONDS", -1, "SELECT * FROM s;"),
    ],
)
def test_a_scan_beyond_a_limit_is_refused_by_its_name(
    pages: SqlPages, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, sql: str
) -> None:
    monkeypatch.setattr(topic_scans, limit, value)
    closed = Topic.closed
    status, (answer,) = ask(pages, sql)
    assert status == 400
    assert f"({limit})" in answer["error"]
    assert Topic.closed == closed + 1


def test_query_by_key_or_with_a_limit_may_read_a_large_topic(pages: SqlPages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_scans, "TABLE_ROWS", 1)
    monkeypatch.setattr(topic_scans, "READ_RECORDS", 6)
    assert len(rows(pages, "SELECT * FROM t WHERE id = 'c';")) == 1
    monkeypatch.setattr(topic_scans, "READ_RECORDS", 2)
    assert len(rows(pages, "SELECT * FROM s LIMIT 1;")) == 1
