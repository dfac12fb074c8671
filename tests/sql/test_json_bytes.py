"""JSON has the same bytes as in ksqlDB, because different keys would go to other partitions."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import floats

import forebay.testing.driver as driver_module
from forebay.formats import no_contracts
from forebay.sql.arithmetic import text_of_double
from forebay.sql.catalog import Encoding, Named
from forebay.sql.encodings.rows import key_format, value_format
from forebay.sql.types import DOUBLE, STRING, ArrayType, DecimalType, SqlType, StructType
from tests.sql.driven import Driven, raw_output

DOUBLES = {
    -0.0: b"-0.0",
    1.0: b"1.0",
    0.001: b"0.001",
    0.000999: b"9.99E-4",
    9_999_999.5: b"9999999.5",
    1e7: b"1.0E7",
    -12_345_678.9: b"-1.23456789E7",
    1e16: b"1.0E16",
    5e-324: b"4.9E-324",
    1.7976931348623157e308: b"1.7976931348623157E308",
    math.inf: b'"Infinity"',
}


@pytest.mark.parametrize("value", DOUBLES)
def test_doubles_are_written_as_java_writes_them(value: float) -> None:
    assert key_format((Named("K", DOUBLE),), "JSON").codec(no_contracts).encode((value,)) == DOUBLES[value]
    row = value_format((Named("A", DOUBLE),), Encoding(value="JSON")).codec(no_contracts)
    assert row.encode((value,)) == b'{"A":' + DOUBLES[value] + b"}"
    # ksqlDB writes a negative zero without its sign.
    assert repr(row.decode(row.encode((value,)))) == repr((value + 0.0,))


@given(floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1e-323)
@example(2.0**-1022)
@example(9_999_999.999999998)
@example(1e7)
@example(-1e16)
@example(2e23)
@example(2.0**60)
def test_texts_of_doubles_are_the_shortest_in_java_s_notation(value: float) -> None:
    text = text_of_double(value)
    assert repr(float(text)) == repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        assert text == repr(value)
    else:
        assert re.fullmatch(r"-?[1-9]\.(0|\d*[1-9])E-?\d+", text)
        assert Decimal(text) == Decimal(repr(value) if len(text.partition("E")[0].strip("-")) > 3 else f"{value:.1e}")


NESTED: dict[SqlType, tuple[Any, bytes]] = {
    ArrayType(DOUBLE): ((1e7, None), b"[1.0E7,null]"),
    StructType((("A", ArrayType(StructType((("B", DOUBLE),)))),)): ((((1e-4,),),), b'{"A":[{"B":1.0E-4}]}'),
    DecimalType(10, 8): (Decimal("0.00000010"), b"1.0E-7"),
    STRING: ("\x0b\x1f\x7f\t\\\\u001f/\u2028", b'"\\u000B\\u001F\x7f\\t\\\\\\\\u001f/\xe2\x80\xa8"'),
}


@pytest.mark.parametrize("kind", NESTED)
def test_parts_of_keys_are_written_likewise(kind: SqlType) -> None:
    value, data = NESTED[kind]
    codec = key_format((Named("K", kind),), "JSON").codec(no_contracts)
    assert codec.encode((value,)) == data
    assert codec.decode(data) == (value,)


def test_groups_by_a_double_are_written_under_ksqldb_s_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "show_output", raw_output)
    driven = Driven(
        "CREATE STREAM a (v DOUBLE) WITH (KAFKA_TOPIC='a', FORMAT='JSON');"
        "CREATE TABLE b AS SELECT v, COUNT(*) AS n FROM a GROUP BY v;"
        "CREATE STREAM c AS SELECT v, 1 AS n FROM a PARTITION BY v;"
    )
    driven.send("a", None, {"v": 12_345_678})
    driven.send("a", None, {"v": 12_345_678.0})
    written = {(item.topic, item.key) for item in driven.sent if item.topic in ("B", "C")}
    assert written == {("B", b"1.2345678E7"), ("C", b"1.2345678E7")}
