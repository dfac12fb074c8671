"""CREATE MATERIALIZED VIEW has the same plan as CREATE TABLE ... AS SELECT, but nulls have PostgreSQL's semantics."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.sql.describing import describe
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from forebay.sql.service import job_of, statements_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command
from forebay.testing import TestDriver
from tests.sql.driven import Driven, stream

HEAD = stream("id STRING KEY, area STRING, n DOUBLE, m INT, good BOOLEAN")
SELECT = "SELECT area, AVG(n) AS mean, COUNT(*) AS c FROM s WHERE m > 1 GROUP BY area"
VIEW, TABLE = f"CREATE MATERIALIZED VIEW v AS {SELECT};", f"CREATE TABLE t AS {SELECT} EMIT CHANGES;"


def test_a_view_and_the_same_table_are_one_plan_and_give_the_same_rows() -> None:
    driven = Driven(f"{HEAD}{VIEW}\n{TABLE}")
    view, table = ([line.strip() for line in query.lines()] for query in driven.program.queries)
    assert view[1:] == table[1:]
    sent = [
        {"AREA": area, "N": n, "M": m} for area, n, m in [("a", 1.0, 2), ("b", 5.0, 3), ("a", 2.0, 2), ("a", 9.0, 1)]
    ]
    for value in sent:
        driven.driver.pipe_bytes(b"k", str(value).replace("'", '"').encode(), 0, "in")
    results = {
        topic: [(output.key, output.value) for output in driven.driver.outputs if output.topic == topic]
        for topic in "VT"
    }
    assert results["V"] == results["T"] == [(("a",), (1.0, 1)), (("b",), (5.0, 1)), (("a",), (1.5, 2))]


def test_a_file_mixes_both_spellings_and_one_reads_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mixed.sql"
    more = "CREATE TABLE counts AS SELECT c, COUNT(*) AS areas FROM v GROUP BY c;"
    file.write_text(f"{HEAD}{VIEW}\n{TABLE}\n{more}\n")
    assert run(["sql", "-f", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "CTAS_V_0: table V -> topic V" in shown
    assert "read table V: C" in shown
    driver = TestDriver(job_of(statements_of(file)), tasks=2)
    driver.pipe_bytes(b"k", b'{"AREA": "a", "N": 1, "M": 2}', 0, "in")
    assert [output.topic for output in driver.outputs] == ["V", "T", "COUNTS"]


def test_explain_shows_the_plan_of_a_view() -> None:
    (command,) = parse(f"EXPLAIN {VIEW}")
    assert isinstance(command, Command)
    lines = [line["row"]["plan"] for line in describe(program_of(HEAD), command) if "row" in line]
    assert [line.strip() for line in lines[2:6]] == [
        "select AVG(S.N) as MEAN, COUNT(*) as C",
        "aggregate AVG(S.N), COUNT(*)",
        "key S.AREA (KAFKA), repartition",
        "keep where (S.M > 1)",
    ]


CONDITIONS: dict[str, tuple[bool, bool]] = {
    "NOT (m = 3)": (False, True),
    "NOT (m IN (1, 2))": (False, True),
    "NOT (m IN (7, LEN(id)))": (False, True),
    "NOT (1 IN (2, NULL))": (False, True),
    "NOT (m BETWEEN 1 AND 2)": (False, True),
    "NOT (area LIKE 'x%')": (False, False),
    "NOT (m + 1 = 3)": (False, False),
    "m + 1 = 3 OR TRUE": (True, False),
    "m = 3 OR TRUE": (True, True),
    "good IS TRUE": (False, False),
    "good IS NOT TRUE": (True, True),
    "good IS NOT FALSE": (True, True),
    "NOT good": (False, False),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_comparison_with_null_is_unknown_in_a_view_and_false_in_a_table(condition: str) -> None:
    select = f"SELECT id, COUNT(*) AS c FROM s WHERE {condition} GROUP BY id;"
    driven = Driven(f"{HEAD}CREATE MATERIALIZED VIEW v AS {select} CREATE TABLE t AS {select}")
    driven.driver.pipe_bytes(b"k", b"{}", 0, "in")
    topics = {output.topic for output in driven.driver.outputs}
    assert ("V" in topics, "T" in topics) == CONDITIONS[condition]


def test_aggregates_of_no_values_are_null_in_a_view() -> None:
    select = "SELECT id, SUM(m) AS s, AVG(n) AS a, MAX(n) AS x, COUNT(n) AS c FROM s GROUP BY id;"
    driven = Driven(f"{HEAD}CREATE MATERIALIZED VIEW v AS {select} CREATE TABLE t AS {select}")
    driven.driver.pipe_bytes(b"k", b"{}", 0, "in")
    results = {output.topic: output.value for output in driven.driver.outputs}
    assert results == {"V": (None, None, None, 0), "T": (0, 0.0, None, 0)}


def test_view_of_a_table_subtracts_former_rows() -> None:
    driven = Driven(
        "CREATE TABLE s (id STRING PRIMARY KEY, area STRING, m INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE MATERIALIZED VIEW v AS SELECT area, SUM(m) AS s, COUNT(*) AS c FROM s GROUP BY area;"
    )
    rows = driven.rows("in", ("k", {"AREA": "a", "M": 5}), ("l", {"AREA": "a", "M": None}), ("k", None))
    assert rows == [("a", (5, 1)), ("a", (5, 2)), ("a", (None, 1))]


def test_sum_beyond_the_range_of_double_is_refused() -> None:
    driven = Driven(f"{HEAD}CREATE MATERIALIZED VIEW v AS SELECT id, SUM(n) AS s FROM s GROUP BY id;")
    assert driven.rows("in", ("k", {"N": 1.7e308}), ("k", {"N": 1.7e308})) == [("k", (1.7e308,))]
    assert "is beyond what a double holds" in driven.driver.errors[0].headers["error.message"]


def test_view_has_options_and_can_be_dropped() -> None:
    result = program_of(f"{HEAD}CREATE MATERIALIZED VIEW v WITH (KAFKA_TOPIC='views') AS {SELECT};")
    assert result.queries[0].target.topic == "views"
    assert program_of(f"{HEAD}{VIEW} DROP MATERIALIZED VIEW v;").queries == []


@pytest.mark.parametrize(
    ("statement", "place", "remedy"),
    [
        ("CREATE MATERIALIZED TABLE v AS SELECT 1;", "2:21", "write VIEW"),
        ("CREATE MATERIALIZED VIEW v (a INT) AS SELECT 1;", "2:28", "write AS"),
        ("CREATE VIEW v AS SELECT 1;", "2:8", "MATERIALIZED VIEW"),
        ("CREATE MATERIALIZED VIEW v AS SELECT id, n FROM s;", "2:1", "this query returns a STREAM"),
        ("CREATE MATERIALIZED VIEW s AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;", "2:1", "CREATE OR REPLACE"),
    ],
)
def test_an_invalid_argument_is_refused_with_its_place(statement: str, place: str, remedy: str) -> None:
    with pytest.raises(SqlError) as refused:
        program_of(HEAD + statement, "views.sql")
    assert str(refused.value).startswith(f"views.sql:{place}: ")
    assert remedy in str(refused.value)


def test_a_view_may_select_its_key_twice_or_nothing_else() -> None:
    driven = Driven(
        stream("area VARCHAR")
        + "CREATE MATERIALIZED VIEW o AS SELECT area FROM s GROUP BY area;"
        + "CREATE MATERIALIZED VIEW p AS SELECT area, area AS again FROM s GROUP BY area;"
    )
    assert driven.rows("in", (None, {"AREA": "hall"})) == [("hall", ()), ("hall", ("hall",))]
