"""Values of JSON and DELIMITED are converted without loss or refused, as in ksqlDB."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from forebay.codec import DecodeError
from forebay.formats import no_contracts
from forebay.sql.catalog import Encoding, Named
from forebay.sql.encodings.rows import value_format
from forebay.sql.types import BOOLEAN, DATE, DOUBLE, INT, STRING, TIME, ArrayType, DecimalType, MapType, SqlType

REFUSED: Any = object()
MONEY = DecimalType(4, 2)
JSON: dict[tuple[SqlType, str], Any] = {
    (STRING, "[1, 2.50, null, true]"): "[1, 2.50, null, true]",
    (STRING, '["a", {"b": [1, 2]}, [3, 4]]'): '[a, {"b":[1,2]}, [3, 4]]',
    (STRING, '{"b": [1, 2]}'): '{"b":[1,2]}',
    (STRING, '{"b": 1.50, "c": 9007199254740993.5, "d": 1e2}'): '{"b":1.50,"c":9007199254740993.5,"d":1E+2}',
    (STRING, "1e2"): "1E+2",
    (STRING, "[0.00000010, 100.50]"): "[1.0E-7, 100.50]",
    (STRING, "-0.0"): "0.0",
    (STRING, "12345678901234567890"): "12345678901234567890",
    (STRING, "1e9999999999999999999"): REFUSED,
    (STRING, '{"b": [-1e9999999999999999999]}'): REFUSED,
    (MONEY, "1e-9999999999999999999"): REFUSED,
    (DOUBLE, "-0.0"): 0.0,
    (DOUBLE, '"-0.0"'): -0.0,
    (INT, '" 1"'): REFUSED,
    (DATE, '"1 "'): REFUSED,
    (MONEY, '" 1.5"'): REFUSED,
    (DOUBLE, '" 1.5\\t"'): 1.5,
    (MapType(STRING, INT), "[]"): REFUSED,
    (MapType(STRING, INT), '[{"key": "a", "value": 1}]'): REFUSED,
    (BOOLEAN, "true"): True,
    (BOOLEAN, '"true"'): REFUSED,
    (BOOLEAN, '"x"'): REFUSED,
    (MapType(BOOLEAN, INT), '{"true": 1}'): {True: 1},
    (MONEY, "1.5"): Decimal("1.50"),
    (MONEY, '"1.500"'): Decimal("1.50"),
    (MONEY, "1.555"): REFUSED,
    (MONEY, '"1.555"'): REFUSED,
    (ArrayType(MONEY), "[1.555]"): REFUSED,
    (TIME, "86399999"): 86_399_999,
    (TIME, "-1"): REFUSED,
    (TIME, "86400001"): REFUSED,
}
DELIMITED: dict[tuple[SqlType, str], Any] = {
    (MONEY, "1.5"): Decimal("1.50"),
    (MONEY, "1.555"): REFUSED,
    (DOUBLE, "Infinity"): math.inf,
    (DOUBLE, "x"): REFUSED,
    (DOUBLE, " 1.5 "): 1.5,
    (DOUBLE, " Infinity"): math.inf,
    (INT, " 1"): REFUSED,
    (DATE, "1 "): REFUSED,
    (TIME, " 1"): REFUSED,
    (MONEY, "1.5 "): REFUSED,
    (STRING, "a" * 200_000): "a" * 200_000,
    (STRING, '"a'): REFUSED,
    (STRING, '"a"b'): REFUSED,
    (DATE, "12"): 12,
    (DATE, "1_2"): REFUSED,
    (TIME, "-1"): REFUSED,
    (BOOLEAN, "TRUE"): True,
    (BOOLEAN, "yes"): False,
}


def check(encoding: str, kind: SqlType, data: bytes, expected: Any) -> None:
    codec = value_format((Named("V", kind), Named("N", INT)), Encoding(value=encoding)).codec(no_contracts)
    if expected is REFUSED:
        with pytest.raises(DecodeError):
            codec.decode(data)
    else:
        assert repr(codec.decode(data)) == repr((expected, 1))


@pytest.mark.parametrize(("kind", "text"), JSON)
def test_json(kind: SqlType, text: str) -> None:
    check("JSON", kind, f'{{"v": {text}, "n": 1}}'.encode(), JSON[kind, text])


@pytest.mark.parametrize(("kind", "text"), DELIMITED)
def test_delimited(kind: SqlType, text: str) -> None:
    check("DELIMITED", kind, f"{text},1".encode(), DELIMITED[kind, text])


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, b"1.0"), (1e7, b"1.0E7"), (123456789.0, b"1.23456789E8"), (1e-5, b"1.0E-5"), (math.nan, b"NaN")],
)
def test_a_double_is_written_as_java_writes_it(value: float, text: bytes) -> None:
    codec = value_format((Named("V", DOUBLE), Named("N", INT)), Encoding(value="DELIMITED")).codec(no_contracts)
    assert codec.encode((value, 1)) == text + b",1"
