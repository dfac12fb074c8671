"""Spark's values are written in Protobuf so that they are read back unchanged. Values that don't fit are rejected."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import json_format
from pyspark.sql import types as spark

from forebay.serde.proto_messages import class_of, message_of
from forebay.spark.sink_derived import derive_protobuf
from forebay.spark.sink_protobuf import protobuf_encoder
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch

TEXT = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  enum Kind { NONE = 0; NEW = 1; }
  message Line { string product = 1; optional int32 count = 2; }
  int64 id = 1;
  optional string note = 2;
  Kind kind = 3;
  repeated Line lines = 4;
  map<string, double> prices = 5;
  google.protobuf.Timestamp at = 6;
  google.protobuf.Int64Value total = 7;
  uint32 small = 8;
  oneof choice { string left = 9; string right = 10; }
}
"""


def row(*columns: tuple[str, spark.DataType]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in columns])


def read(text: str, data: bytes) -> dict[str, Any]:
    assert data[:1] == b"\0", "the first message of its schema"
    message = class_of(message_of(text)).FromString(data[1:])
    return dict(json_format.MessageToDict(message, preserving_proto_field_name=True))


LINES = spark.ArrayType(row(("product", spark.StringType()), ("count", spark.IntegerType())))
COLUMNS: dict[str, spark.DataType] = {
    "id": spark.LongType(),
    "note": spark.StringType(),
    "kind": spark.StringType(),
    "lines": LINES,
    "prices": spark.MapType(spark.StringType(), spark.DoubleType()),
    "at": spark.TimestampType(),
    "total": spark.LongType(),
    "small": spark.LongType(),
    "left": spark.StringType(),
    "right": spark.StringType(),
}
VALUE: dict[str, Any] = {
    "id": 2**40,
    "note": "",
    "kind": "NEW",
    "lines": [{"product": "a", "count": 0}, {"product": "b", "count": None}],
    "prices": [("a", 1.5)],
    "at": datetime.datetime(2024, 1, 2, 3, 4, 5, 123_456, tzinfo=datetime.UTC),
    "total": 0,
    "small": 2**32 - 1,
    "left": None,
    "right": "r",
}


def test_a_row_is_read_back_as_it_was_written() -> None:
    data = protobuf_encoder(TEXT, row(*COLUMNS.items()))(VALUE)
    assert read(TEXT, data) == {
        "id": str(2**40),
        "note": "",
        "kind": "NEW",
        "lines": [{"product": "a", "count": 0}, {"product": "b"}],
        "prices": {"a": 1.5},
        "at": "2024-01-02T03:04:05.123456Z",
        "total": "0",
        "small": 2**32 - 1,
        "right": "r",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, r"id is null, but its field has no null.*coalesce\(id"),
        ({"lines": None}, "lines is null"),
        ({"lines": [None]}, r"lines\[\] is null"),
        ({"prices": [("a", None)]}, r"prices\[\] is null"),
        ({"kind": "OLD"}, "not one of NONE, NEW"),
        ({"small": -1}, "does not fit the message Order"),
        ({"small": 2**32}, "does not fit the message Order"),
        ({"left": "l"}, "left and right have values, but a message holds one of them"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueMismatch, match=message):
        protobuf_encoder(TEXT, row(*COLUMNS.items()))({**VALUE, **change})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("id", spark.DecimalType(20, 0)),
        ("kind", spark.IntegerType()),
        ("lines", spark.StringType()),
        ("prices", spark.StringType()),
        ("at", spark.LongType()),
        ("at", spark.TimestampNTZType()),
        ("total", spark.StringType()),
        ("note", spark.BinaryType()),
        ("lines", spark.ArrayType(row(("product", spark.LongType())))),
    ],
)
def test_a_type_that_does_not_fit_is_refused(name: str, kind: spark.DataType) -> None:
    with pytest.raises(ColumnMismatch, match=r"without loss: "):
        protobuf_encoder(TEXT, row((name, kind)))


def test_a_column_without_a_field_is_refused() -> None:
    with pytest.raises(ColumnMismatch, match="the message Order has no field for the column extra"):
        protobuf_encoder(TEXT, row(("extra", spark.StringType())))


def test_message_index_is_written_if_the_message_is_not_the_first() -> None:
    text = 'syntax = "proto3"; message A { string a = 1; } message B { string b = 1; }'
    assert protobuf_encoder(text, row(("b", spark.StringType())), "B")({"b": "x"}) == b"\x02\x02\x0a\x01x"


def test_a_derived_schema_takes_its_columns_and_keeps_nulls() -> None:
    columns = row(
        ("id", spark.LongType()),
        ("price", spark.DecimalType(12, 4)),
        ("at", spark.TimestampType()),
        ("day", spark.DateType()),
        ("clock", spark.TimeType()),
        ("tags", spark.ArrayType(spark.StringType())),
        ("counts", spark.MapType(spark.StringType(), spark.LongType())),
        ("place", row(("x", spark.DoubleType()))),
        ("stops", spark.ArrayType(row(("y", spark.FloatType())))),
    )
    text = derive_protobuf(columns, "orders")
    value = {
        "id": 0,
        "price": Decimal("1.2500"),
        "at": VALUE["at"],
        "day": datetime.date(2024, 1, 2),
        "clock": datetime.time(1, 2, 3, 4),
        "tags": ["a"],
        "counts": [("a", 1)],
        "place": {"x": None},
        "stops": [{"y": 0.5}],
    }
    result = read(text, protobuf_encoder(text, columns)(value))
    assert result == {
        "id": "0",
        "price": {"value": "MNQ=", "precision": 12, "scale": 4},
        "at": "2024-01-02T03:04:05.123456Z",
        "day": {"year": 2024, "month": 1, "day": 2},
        "clock": {"hours": 1, "minutes": 2, "seconds": 3, "nanos": 4_000},
        "tags": ["a"],
        "counts": {"a": "1"},
        "place": {},
        "stops": [{"y": 0.5}],
    }
    nulls = dict.fromkeys(value) | {"tags": [], "counts": [], "stops": []}
    assert read(text, protobuf_encoder(text, columns)(nulls)) == {}


DECIMAL = """syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";
message A {{ confluent.type.Decimal d = 1{options}; }}"""


def test_a_decimal_is_written_with_the_digits_that_its_field_declares() -> None:
    text = DECIMAL.format(options=' [(confluent.field_meta).params = {precision: "9", scale: "3"}]')
    data = protobuf_encoder(text, row(("d", spark.DecimalType(8, 2))))({"d": Decimal("-1.25")})
    assert read(text, data) == {"d": {"value": "+x4=", "precision": 9, "scale": 3}}
    for kind in (spark.DecimalType(9, 4), spark.DecimalType(9, 2), spark.DecimalType(38, 3)):
        with pytest.raises(ColumnMismatch, match=r"CAST\(d AS DECIMAL\(9, 3\)\) AS d"):
            protobuf_encoder(text, row(("d", kind)))


def test_a_decimal_without_declared_digits_takes_any_column() -> None:
    text = DECIMAL.format(options="")
    data = protobuf_encoder(text, row(("d", spark.DecimalType(38, 30))))({"d": Decimal("0." + "0" * 29 + "1")})
    assert read(text, data) == {"d": {"value": "AQ==", "precision": 30, "scale": 30}}


def test_columns_that_messages_have_no_type_for_are_not_derived() -> None:
    for kind in (spark.TimestampNTZType(), spark.ArrayType(spark.ArrayType(spark.LongType()))):
        with pytest.raises(ColumnMismatch, match="Protocol Buffers has no type"):
            derive_protobuf(row(("c", kind)), "a")
