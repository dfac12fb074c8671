"""Statements that can't run are refused before anything starts: file, line, column, what to write instead."""

from __future__ import annotations

import pytest

from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import stream

HEAD = stream("id BIGINT KEY, area VARCHAR, n INT") + (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');\n"
)

REFUSED = {
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s GROUP id;": ("3:57", "write BY"),
    "CREATE TABLE a AS SELECT id, nothing, COUNT(*) AS c FROM s GROUP BY id;": ("3:30", "there is no column NOTHING"),
    "CREATE TABLE a AS SELECT id, n FROM s GROUP BY id;": ("3:30", "LATEST_BY_OFFSET(N)"),
    "CREATE TABLE a AS SELECT COUNT(*) AS c FROM s GROUP BY id;": ("3:19", "the key column ID is missing"),
    "CREATE STREAM a AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;": ("3:1", "write CREATE TABLE A AS SELECT"),
    "CREATE TABLE a AS SELECT id, n FROM s;": ("3:1", "write CREATE STREAM A AS SELECT"),
    "CREATE STREAM a AS SELECT id, n + area AS x FROM s;": ("3:31", "CAST both to STRING"),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE n IN (1, '2 or so');": ("3:46", "'2 or so' is no INTEGER: write"),
    "CREATE STREAM a AS SELECT id, LEN(n) AS x FROM s;": ("3:31", "write LEN(STRING)"),
    "CREATE STREAM a AS SELECT id, LENGTH(area) AS x FROM s;": (
        "3:31",
        "there is no function LENGTH: write one of LEN",
    ),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE n;": ("3:46", "compare it with something"),
    "CREATE STREAM a AS SELECT s.id, x.id FROM s JOIN s x ON s.id = x.id;": ("3:50", "write WITHIN 1 HOUR"),
    "CREATE STREAM a AS SELECT s.id, t.name FROM s JOIN t ON s.area = t.name;": ("3:57", "write ON ... = T.ID"),
    "CREATE STREAM a AS SELECT id, n FROM s ORDER BY n;": ("3:40", "write no ORDER BY"),
    "CREATE STREAM a AS SELECT id, n FROM missing;": ("3:38", "write CREATE STREAM or TABLE MISSING before"),
    "CREATE STREAM s AS SELECT id, n FROM s;": ("3:1", "CREATE OR REPLACE"),
    "CREATE TABLE a AS SELECT id, MAX(name) AS x FROM t GROUP BY id;": ("3:30", "can't take a row out again"),
    "CREATE TABLE a AS SELECT id, SUM(area) AS x FROM s GROUP BY id;": ("3:30", "write SUM(a number)"),
    "CREATE STREAM b (id BIGINT) WITH (VALUE_FORMAT='JSON');": ("3:1", "write WITH (KAFKA_TOPIC"),
    "CREATE STREAM b (id BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='XML');": ("3:1", "there is no format XML"),
    "CREATE STREAM b (id BIGGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');": ("3:21", "CREATE TYPE"),
    "CREATE TABLE b (id BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');": ("3:1", "write PRIMARY KEY"),
    "CREATE STREAM a AS SELECT id, n FROM s WINDOW TUMBLING (SIZE 1 HOUR);": ("3:20", "needs GROUP BY"),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s GROUP BY id EMIT FINAL;": ("3:19", "add a WINDOW"),
    "INSERT INTO s SELECT id, n FROM s;": ("3:1", "select the same ones"),
    "SHOW TABLES;": ("3:1", "a command of the shell"),
    "SET 'no.such.setting' = '1';": ("3:1", "has no effect here"),
    "CREATE STREAM a AS SELECT id, 'text FROM s;": ("1:1", "can't be read as SQL"),
    f"CREATE STREAM a AS SELECT id, {'+'.join('n' * 500)} AS x FROM s;": ("3:1", "is nested too deeply"),
    f"CREATE STREAM a AS SELECT id, n FROM s WHERE {'NOT ' * 200}n = 1;": ("3:1", "is nested too deeply"),
    f"CREATE STREAM a AS SELECT id, n FROM s WHERE {'(' * 65}n = 1{')' * 65};": ("3:110", "more than 64 brackets"),
    "CREATE STREAM a AS SELECT id, EXPLODE(n) AS x FROM s;": ("3:31", "EXPLODE takes an ARRAY"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_that_cant_run_is_refused_with_its_place_and_the_remedy(statement: str) -> None:
    place, remedy = REFUSED[statement]
    with pytest.raises(SqlError) as refused:
        topology_of(program_of(HEAD + statement, "views.sql"))
    assert str(refused.value).startswith(f"views.sql:{place}: ")
    assert remedy in str(refused.value)
