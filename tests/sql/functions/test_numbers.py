"""Numbers are parsed as in Java, overflow as in Java or to null, and DECIMALs are exact. NaN and infinity work."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.types import BIGINT, DOUBLE, INT, STRING, ArrayType, DecimalType, SqlType
from tests.sql.driven import Driven, stream
from tests.sql.functions.calls import type_of, value_of

LONG = 1 << 63
CASTS: dict[tuple[str, str], Any] = {
    (" 12 ", "INT"): 12,
    ("+12", "INT"): 12,
    ("-2147483648", "INT"): -2147483648,
    ("2147483648", "INT"): None,
    ("1_000", "INT"): None,
    ("1.0", "INT"): None,
    ("1e3", "BIGINT"): None,
    ("1e1000000", "BIGINT"): None,
    ("9" * 5_000, "BIGINT"): None,
    ("", "BIGINT"): None,
    ("9223372036854775807", "BIGINT"): LONG - 1,
    ("NaN", "DOUBLE"): None,
    ("inf", "DOUBLE"): None,
    ("Infinity", "DOUBLE"): None,
    ("1_0.5", "DOUBLE"): None,
    ("1e400", "DOUBLE"): None,
    ("0x10", "DOUBLE"): None,
    ("1.5e3", "DOUBLE"): 1500.0,
    (".5", "DOUBLE"): 0.5,
    ("5.", "DOUBLE"): 5.0,
    ("5d", "DOUBLE"): 5.0,
    ("-1e1F", "DOUBLE"): -10.0,
    ("0x1.8p1", "DOUBLE"): 3.0,
    ("0xp1", "DOUBLE"): None,
    ("٣", "DOUBLE"): None,
    ("٣", "INT"): 3,
    ("NaN", "DECIMAL(6, 2)"): None,
    ("sNaN", "DECIMAL(6, 2)"): None,
    ("1e1000000", "DECIMAL(6, 2)"): None,
    ("1e-1000000", "DECIMAL(6, 2)"): Decimal("0.00"),
    ("1_000", "DECIMAL(6, 2)"): None,
    ("9999.995", "DECIMAL(6, 2)"): None,
    ("-1.005", "DECIMAL(6, 2)"): Decimal("-1.01"),
    ("-0.001", "DECIMAL(6, 2)"): Decimal("0.00"),
}


@pytest.mark.parametrize("case", CASTS)
def test_a_text_as_a_number(case: tuple[str, str]) -> None:
    text, kind = case
    result = value_of(f"CAST(t AS {kind})", {"T": (STRING, text)})
    assert str(result) == str(CASTS[case])


COLUMNS: dict[str, tuple[SqlType, Any]] = {
    "I": (INT, -2147483648),
    "B": (BIGINT, -LONG),
    "D": (DecimalType(6, 4), Decimal("99.9999")),
    "W": (DecimalType(38, 10), Decimal("1234567890123456789012345678.0123456789")),
    "Z": (DecimalType(4, 2), Decimal("0.00")),
    "NAN": (DOUBLE, math.nan),
    "INF": (DOUBLE, math.inf),
    "X": (DOUBLE, 0.49999999999999994),
    "A": (ArrayType(DOUBLE), (2.0, math.nan, 1.0)),
}
CALLS: dict[str, Any] = {
    "ABS(i)": -2147483648,
    "ABS(b)": -LONG,
    "-i": -2147483648,
    "-b": -LONG,
    "i / -1": -2147483648,
    "i - 1": 2147483647,
    "CEIL(d)": None,
    "FLOOR(d)": Decimal("99.0000"),
    "ROUND(d, 1)": None,
    "ROUND(d)": None,
    "TRUNC(d, 1)": Decimal("99.9000"),
    "TRUNC(-d)": Decimal(-99),
    "-w": Decimal("-1234567890123456789012345678.0123456789"),
    "ABS(-w)": Decimal("1234567890123456789012345678.0123456789"),
    "ROUND(w, 2)": Decimal("1234567890123456789012345678.0100000000"),
    "w * w": Decimal("1524157875323883675049535154061880834031397657515622619.75293400418750190521"),
    "-z": Decimal("0.00"),
    "CAST(nan AS DECIMAL(6, 2))": None,
    "CAST(inf AS DECIMAL(6, 2))": None,
    "CAST(nan AS INT)": 0,
    "CAST(inf AS INT)": 2147483647,
    "CAST(1e10 AS INT)": 2147483647,
    "CAST(-1e30 AS BIGINT)": -LONG,
    "CAST(4294967297 AS INT)": 1,
    "ROUND(x)": 0,
    "ROUND(-1.5E0)": -1,
    "ROUND(nan)": 0,
    "ROUND(inf)": LONG - 1,
    "ROUND(12345.678E0, -2)": 12300.0,
    "CEIL(inf)": math.inf,
    "EXP(1000)": math.inf,
    "SINH(-1000)": -math.inf,
    "COSH(-1000)": math.inf,
    "POWER(0, -1)": math.inf,
    "POWER(-10, 401)": -math.inf,
    "POWER(10, 400)": math.inf,
    "COT(0)": math.inf,
    "CBRT(27)": 3.0,
    "CBRT(-0.001)": -0.1,
    "CBRT(0)": 0.0,
    "CBRT(inf)": math.inf,
    "LN(0)": -math.inf,
    "LOG(2, 8)": math.log(8) / math.log(2),
    "SIGN(nan)": 0,
    "ARRAY_MIN(a)": 1.0,
    "ARRAY_SORT(a)[1]": 1.0,
    "ARRAY_SORT(a)[2]": 2.0,
    "LEAST(nan, 1E0)": 1.0,
    "GREATEST(1E0, CAST(NULL AS DOUBLE))": 1.0,
    "GEO_DISTANCE(0, 0, 0, 1, CAST(NULL AS STRING))": pytest.approx(111.19, abs=0.01),
    "GEO_DISTANCE(0, 0, 0, 1, 'Miles')": pytest.approx(69.1, abs=0.01),
    "GEO_DISTANCE(0, 0, 0, 1, 'yards')": None,
    "GEO_DISTANCE(0, 0, 0, 1, ' ')": pytest.approx(111.19, abs=0.01),
    "GEO_DISTANCE(91, 0, 0, 1)": None,
    "TRUNC(nan, 1)": None,
    "ROUND(nan, 1)": None,
    "ROUND(inf, 1)": None,
    "TRUNC(-inf, -1)": None,
    "ROUND(x, 2147483647)": value_of("x", COLUMNS),
    "ROUND(1.7E308, -2147483648)": 0.0,
    "TRUNC(1.7E308, -2147483648)": 0.0,
    "ROUND(d, 2147483647)": Decimal("99.9999"),
    "ROUND(2147483647, -1)": None,
    "ROUND(-2147483648, -1)": None,
    "TRUNC(2147483647, -1)": 2147483640,
    "ROUND(9223372036854775807, -1)": None,
    "ROUND(5, 2147483647)": 5,
    "-99999999999999999999999999999999999999.9": Decimal("-99999999999999999999999999999999999999.9"),
    "-0.0": Decimal("0.0"),
    "CAST(CEIL(-0.5E0) AS STRING)": "-0.0",
    "CAST(FLOOR(-0.0E0) AS STRING)": "-0.0",
}
NAN = ["ASIN(2)", "ACOS(-2)", "SQRT(-1)", "LN(-1)", "LOG(1, 5)", "LOG(-1, 5)", "POWER(-8, 0.5)", "SIN(inf)", "COT(inf)"]
NAN += ["ARRAY_MAX(a)", "ARRAY_SORT(a)[3]", "GREATEST(nan, 1E0)", "CEIL(nan)", "0E0 / 0"]
NAN += ["POWER(1, inf)", "POWER(-1, nan)", "GEO_DISTANCE(nan, 0, 0, 0)"]


@pytest.mark.parametrize("call", CALLS)
def test_results_of_calculations(call: str) -> None:
    assert value_of(call, COLUMNS) == CALLS[call]


@pytest.mark.parametrize("call", NAN)
def test_invalid_numbers(call: str) -> None:
    assert math.isnan(value_of(call, COLUMNS))


TYPES = {
    "ABS(i)": "INTEGER",
    "ABS(b)": "BIGINT",
    "ROUND(i)": "BIGINT",
    "ROUND(x)": "BIGINT",
    "ROUND(x, 1)": "DOUBLE",
    "ROUND(d)": "DECIMAL(2, 0)",
    "ROUND(d, 1)": "DECIMAL(6, 4)",
    "TRUNC(i)": "BIGINT",
    "TRUNC(x)": "BIGINT",
    "TRUNC(d)": "DECIMAL(2, 0)",
    "CEIL(d)": "DECIMAL(6, 4)",
    "CEIL(x)": "DOUBLE",
    "SIGN(b)": "INTEGER",
    "INT_FROM_BYTES(TO_BYTES('', 'hex'))": "INTEGER",
    "BIGINT_FROM_BYTES(TO_BYTES('', 'hex'))": "BIGINT",
    "DOUBLE_FROM_BYTES(TO_BYTES('', 'hex'))": "DOUBLE",
    "UNIX_DATE()": "INTEGER",
    "UNIX_TIMESTAMP()": "BIGINT",
    "GENERATE_SERIES(b, b)": "ARRAY<BIGINT>",
    "GENERATE_SERIES(i, i)": "ARRAY<INTEGER>",
}


@pytest.mark.parametrize("call", TYPES)
def test_the_type_of_a_result(call: str) -> None:
    assert str(type_of(call, {name: kind for name, (kind, _) in COLUMNS.items()})) == TYPES[call]


@pytest.mark.parametrize("number", ["1e400", "-1E999999999", "9" * 1_001])
def test_a_number_beyond_every_type_is_refused_with_its_place(number: str) -> None:
    with pytest.raises(SqlError):
        value_of(f"1 + {number}")


def test_non_numeric_text_is_excluded_from_a_sum() -> None:
    head = stream("id STRING KEY, x STRING")
    driven = Driven(
        f"{head}CREATE TABLE o AS SELECT id, SUM(CAST(x AS DOUBLE)) AS s, COUNT(*) AS c FROM s GROUP BY id;"
    )
    assert driven.rows("in", *(("k", {"X": x}) for x in ("1.5", "NaN", "2")))[-1] == ("k", (3.5, 3))


@pytest.mark.parametrize(
    "value", ['{"A": 1e999999999999999999}', '{"A": 1e1000000}', '{"A": "1e1000000"}', '{"A": NaN}']
)
@pytest.mark.parametrize("kind", ["INT", "BIGINT", "DECIMAL(6, 2)"])
def test_json_numbers_are_bounded_before_they_are_expanded(kind: str, value: str) -> None:
    driven = Driven(f"{stream(f'id STRING KEY, a {kind}')}CREATE STREAM o AS SELECT id, a FROM s;")
    assert driven.send("in", "k", value) == []
    assert len(driven.driver.errors) == 1


def test_a_long_number_as_a_text_keeps_its_exponent() -> None:
    driven = Driven(f"{stream('id STRING KEY, a STRING')}CREATE STREAM o AS SELECT id, a FROM s;")
    assert driven.send("in", "k", '{"A": 1e999999999}') == [("k", ("1E+999999999",), 0)]


def test_averages_of_decimals_are_of_their_exact_sum() -> None:
    driven = Driven(
        f"{stream('id STRING KEY, a DECIMAL(38, 0)')}CREATE TABLE o AS SELECT id, AVG(a) AS x FROM s GROUP BY id;"
    )
    large = 10**37
    rows = driven.rows("in", *(("k", f'{{"A": {n}}}') for n in (large + 1, -large, 1)))
    assert rows[-1] == ("k", (pytest.approx(2 / 3),))
