"""Keys of a history have the order and types of the declared columns, because their bytes determine the partition."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from forebay.spark.history_json import check_json_columns
from forebay.spark.history_keys import sql_key
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch
from forebay.sql.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INT, STRING, TIME, TIMESTAMP, DecimalType


@dataclass(frozen=True)
class Column:
    name: str
    type: Any


NOON = datetime.datetime(1970, 1, 2, 12, tzinfo=datetime.UTC)


def test_fields_are_taken_by_name_not_by_place() -> None:
    columns = [Column("A", STRING), Column("B", INT)]
    assert sql_key(columns, {"b": 1, "a": "x"}) == ("x", 1)


@pytest.mark.parametrize(
    ("kind", "value", "converted"),
    [
        (STRING, "s0", "s0"),
        (BIGINT, 5, 5),
        (BOOLEAN, True, True),
        (BYTES, b"x", b"x"),
        (DOUBLE, 1.5, 1.5),
        (DecimalType(9, 2), Decimal("1.5"), Decimal("1.50")),
        (DATE, datetime.date(1970, 1, 3), 2),
        (TIME, datetime.time(0, 0, 1), 1_000),
        (TIMESTAMP, NOON, 129_600_000),
        (INT, None, None),
    ],
)
def test_values_have_the_declared_type(kind: Any, value: Any, converted: Any) -> None:
    (result,) = sql_key([Column("K", kind)], value)
    assert str(result) == str(converted)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (STRING, 5),
        (INT, True),
        (INT, "5"),
        (DOUBLE, 5),
        (DecimalType(3, 1), Decimal("1.25")),
        (DecimalType(3, 1), Decimal("100.0")),
        (DATE, NOON),
        (TIMESTAMP, 5),
    ],
)
def test_a_value_of_another_type_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises(ValueMismatch, match=r"the key column K is .*CAST it"):
        sql_key([Column("K", kind)], value)


@pytest.mark.parametrize("key", ["x", {"a": "x"}, {"a": "x", "c": 1}])
def test_other_columns_are_refused(key: Any) -> None:
    with pytest.raises(ValueMismatch, match="A, B"):
        sql_key([Column("A", STRING), Column("B", INT)], key)


def test_columns_of_values_that_are_not_declared_are_refused() -> None:
    from pyspark.sql import types as spark  # noqa: PLC0415 (the other tests need no Spark)

    row = spark.StructType().add("R", spark.DoubleType()).add("rr", spark.DoubleType())
    with pytest.raises(ColumnMismatch, match="the columns rr are not declared: choose from R"):
        check_json_columns(row, {"r": "R"})
