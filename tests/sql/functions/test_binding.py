"""Expressions are bound to columns, types and casts, and Python is generated from the bound expressions alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from forebay.sql.bound import (
    Bound,
    BoundCall,
    BoundCase,
    BoundCoalesce,
    BoundColumn,
    BoundLambda,
    BoundLiteral,
    BoundLogic,
    BoundMap,
    BoundNullIf,
    BoundRow,
    to_text,
)
from forebay.sql.generate import Generator, function_of
from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, ArrayType, DecimalType, MapType, SqlType
from tests.sql.functions.calls import bind

COLUMNS: dict[str, SqlType] = {"I": INT, "B": BIGINT, "S": STRING, "A": ArrayType(INT)}
INTEGER, LONG, TEXT, ARRAY = (BoundColumn(f"r[{at}]", kind, name) for at, (name, kind) in enumerate(COLUMNS.items()))
FAILS = BoundCall("/", "({0} / 0)", (INTEGER,), DOUBLE)
ONE = BoundLiteral(1, INT)
NULL_INT = BoundLiteral(None, INT)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("'a'", BoundLiteral("a", STRING)),
        ("-1.50", BoundLiteral(Decimal("-1.50"), DecimalType(3, 2))),
        ("0.80", BoundLiteral(Decimal("0.80"), DecimalType(3, 2))),
        ("-.005", BoundLiteral(Decimal("-0.005"), DecimalType(4, 3))),
        ("0.0", BoundLiteral(Decimal("0.0"), DecimalType(2, 1))),
        ("b", LONG),
        ("s || 'x'", BoundCall("||", "({0} + {1})", (TEXT, BoundLiteral("x", STRING)), STRING, None, range(2))),
        ("i = 1 AND s IS NULL", BoundLogic(
            "AND",
            BoundCall("=", "({0} == {1})", (INTEGER, ONE), BOOLEAN, False, range(2)),
            BoundCall("IS NULL", "({0} is None)", (TEXT,), BOOLEAN),
            is_java=True,
        )),
        ("COALESCE(i, b)", BoundCoalesce((BoundCall("CAST", "{0}", (INTEGER,), BIGINT), LONG), BIGINT, is_java=True)),
        ("NULLIF(i, 1)", BoundNullIf(INTEGER, ONE, INT)),
        ("CASE WHEN true THEN i END", BoundCase(
            ((BoundLiteral(True, BOOLEAN), INTEGER),), NULL_INT, INT, is_java=True
        )),
        ("ARRAY[1, '2']", BoundRow((ONE, BoundLiteral(2, INT)), ArrayType(INT))),
        ("MAP(s := 1)", BoundMap(((TEXT, ONE),), MapType(STRING, INT))),
    ],
)  # fmt: skip
def test_an_expression_is_bound_to_places_and_types(text: str, bound: Bound) -> None:
    assert bind(text, COLUMNS) == bound


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("i + b * 1.5", "(I:INTEGER + (B:BIGINT * 1.5):DECIMAL(22, 1)):DECIMAL(23, 1)"),
        ("CAST(s AS INT) > b", "(CAST(S:STRING AS INTEGER) > B:BIGINT)"),
        ("i * 0.5", "(I:INTEGER * 0.5):DECIMAL(13, 1)"),
        ("-.05 + b", "(-0.05 + B:BIGINT):DECIMAL(22, 2)"),
        ("SQRT(i)", "SQRT(CAST(I:INTEGER AS DOUBLE)):DOUBLE"),
        ("i IN (1, '2')", "IN(I:INTEGER, 1, 2)"),
        (
            "TRANSFORM(a, x => x + 1)",
            "TRANSFORM(A:ARRAY<INTEGER>, (X:INTEGER) => (X:INTEGER + 1):INTEGER):ARRAY<INTEGER>",
        ),
        ("CASE WHEN i > 1 THEN 'a' ELSE s END", "CASE WHEN (I:INTEGER > 1) THEN 'a' ELSE S:STRING END:STRING"),
        ("a[1]", "[](A:ARRAY<INTEGER>, 1):INTEGER"),
        ("NOT (s IS NULL OR true)", "NOT((IS NULL(S:STRING) OR TRUE))"),
    ],
)
def test_a_bound_expression_is_shown_with_its_types(text: str, shown: str) -> None:
    assert to_text(bind(text, COLUMNS)) == shown


@pytest.mark.parametrize(
    ("bound", "source", "value"),
    [
        (BoundLiteral("it's", STRING), '"it\'s"', "it's"),
        (INTEGER, "r[0]", 7),
        (BoundCall("+", "({0} + {1})", (INTEGER, LONG), BIGINT, None, range(2)), None, None),
        (
            BoundCall("=", "({0} == {1})", (INTEGER, LONG), BOOLEAN, False, (0,)),
            "(False if r[0] is None else (r[0] == r[1]))",
            False,
        ),
        (BoundCoalesce((LONG, FAILS, ONE), DOUBLE, is_java=False), None, 1),
        (BoundCoalesce((ONE, FAILS), DOUBLE, is_java=True), None, None),
        (BoundCoalesce((LONG, ONE), INT, is_java=True), "(r[1] if r[1] is not None else 1)", 1),
        (BoundNullIf(INTEGER, BoundLiteral(7, INT), INT), "(None if r[0] == 7 else r[0])", None),
        (BoundCase(((BoundLiteral(False, BOOLEAN), INTEGER),), ONE, INT, is_java=True), "(r[0] if False else 1)", 1),
        (BoundRow((INTEGER, FAILS), ArrayType(DOUBLE)), None, (7, None)),
        (BoundMap(((TEXT, INTEGER),), MapType(STRING, INT)), "{r[2]: r[0]}", {"a": 7}),
        (
            BoundCall("F", "{0}(2)", (BoundLambda((BoundColumn("p0", INT),), BoundColumn("p0", INT)),), INT),
            "(lambda p0: p0)(2)",
            2,
        ),
    ],
)
def test_a_bound_expression_becomes_python(bound: Bound, source: str | None, value: Any) -> None:
    assert source is None or Generator().of(bound) == source
    assert function_of("r", [bound])((7, None, "a", ())) == (value,)
