"""The steps of SQL's front end are tested separately: parsing, plan with bound expressions, and graph of operators.

`functions/test_binding.py` tests expressions in the same way.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from forebay.builder.topology_job import job
from forebay.sql import plan
from forebay.sql.bound import BoundColumn, BoundLiteral
from forebay.sql.catalog import Named
from forebay.sql.compile import topology_of
from forebay.sql.plan import Filtered, Projected, QueryPlan, TypedExpression
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.sql.statements import parse
from forebay.sql.syntax import Call, Column, CreateAs, From, Literal, Query, Selected
from forebay.sql.types import BOOLEAN, STRING
from forebay.testing import TestDriver

SOURCES = """
CREATE STREAM s (k STRING KEY, a INT, b ARRAY<STRING>, d DECIMAL(4, 2)) WITH (KAFKA_TOPIC='s', FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, n BIGINT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');
"""
SIMPLE = "CREATE STREAM o AS SELECT k, a + 1 AS n FROM s WHERE a > 2;"
QUERIES = [
    SIMPLE,
    "CREATE STREAM o AS SELECT k, EXPLODE(b) AS word, TRANSFORM(b, x => UCASE(x)) AS c, CAST(d AS INT) AS n FROM s;",
    "CREATE STREAM o AS SELECT s.k, TO_JSON_STRING(b) AS j, t.n FROM s LEFT JOIN t ON s.k = t.k;",
    "CREATE TABLE o AS SELECT a, COUNT(*) AS n, TOPK(d, 2) AS best, COLLECT_LIST(k) AS keys FROM s"
    " WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY a HAVING SUM(d) > 1;",
]


def queries_of(text: str) -> list[QueryPlan]:
    return program_of(SOURCES + text).queries


def test_a_text_becomes_a_syntax_tree() -> None:
    (statement,) = parse(SIMPLE)
    assert isinstance(statement, CreateAs)
    assert statement.query == Query(
        select=(
            Selected(Column("K"), None),
            Selected(Call("+", (Column("A"), Literal(1))), "N"),
        ),
        source=From("S", "S"),
        where=Call(">", (Column("A"), Literal(2))),
        place=statement.query.place,
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_is_data_that_can_be_compared(text: str) -> None:
    assert queries_of(text) == queries_of(text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (SIMPLE, SIMPLE.replace("a + 1", "a + 2")),
        (SIMPLE, SIMPLE.replace("a > 2", "a < 2")),
        (SIMPLE, SIMPLE.replace("a + 1", "CAST(a + 1 AS BIGINT)")),
        (QUERIES[1], QUERIES[1].replace("UCASE", "LCASE")),
        (QUERIES[2], QUERIES[2].replace("LEFT", "INNER")),
        (QUERIES[3], QUERIES[3].replace("SUM", "MAX")),
        (QUERIES[3], QUERIES[3].replace("1 HOUR", "2 HOURS")),
        (QUERIES[3], "SET 'ksql.functions.collect_list.limit' = '2';" + QUERIES[3]),
    ],
)
def test_plans_of_different_statements_differ(text: str, other: str) -> None:
    assert queries_of(text)[0].step != queries_of(other)[0].step


def test_a_plan_shows_its_expressions_with_and_without_types() -> None:
    (query,) = queries_of(SIMPLE)
    assert list(query.lines()) == [
        "CSAS_O_0: stream O -> topic O",
        "  columns K STRING KEY, N INTEGER",
        "  select (S.A + 1) as N",
        "    keep where (S.A > 2)",
        "      read stream S: K, A",
    ]
    assert list(query.lines(typed=True))[2:5] == [
        "  select (S.A + 1) as N",
        "      (A:INTEGER + 1):INTEGER",
        "    keep where (S.A > 2)",
    ]


@pytest.mark.parametrize(("condition", "rows"), [(True, [("x",)]), (False, [])])
def test_a_graph_is_built_from_a_plan_alone(condition: bool, rows: list[object]) -> None:
    program = program_of(SOURCES + SIMPLE)
    (query,) = program.queries
    assert isinstance(query.step, Projected)
    assert isinstance(query.step.parent, Filtered)
    filtered = Filtered(query.step.parent.parent, TypedExpression(BoundLiteral(condition, BOOLEAN), "always or never"))
    key = TypedExpression(BoundColumn("k[0]", STRING, "K"), "K")
    columns = (Named("N", STRING),)
    target = replace(query.target, values=columns)
    changed = replace(program, queries=[replace(query, step=Projected(filtered, (key,), columns), target=target)])
    driver = TestDriver(job(NoSettings, lambda _: topology_of(changed)), tasks=1)
    driver.pipe_bytes(b'"x"', b'{"A": 5}', 1, "s")
    assert [record.value for record in driver.outputs] == rows


GENERATION = {"forebay.sql.generate", "forebay.sql.compile", "forebay.sql.compiled", "forebay.sql.computed"}
ANALYSIS = """
statements queries expressions reader syntax analyze names aliases aggregation joining exploding widening relation
binding bound operators coercion casts plan program
"""


@pytest.mark.parametrize("module", ANALYSIS.split())
def test_nothing_before_the_plan_generates_code(module: str) -> None:
    tree = ast.parse((Path(plan.__file__).parent / f"{module}.py").read_text())
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not used & GENERATION
