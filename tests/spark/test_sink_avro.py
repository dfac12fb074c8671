"""Spark's values are written in Avro so that they are read back unchanged. Values that don't fit are rejected."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from pyspark.sql import types as spark

from forebay.spark.sink_avro import avro_encoder
from forebay.spark.sink_derived import derive_avro
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch

MOMENT = datetime.datetime(2024, 3, 31, 1, 30, 0, 123_000, tzinfo=datetime.UTC)
LOCAL = datetime.datetime(2024, 3, 31, 1, 30, 0, 123_000)
EXACT = [
    ("boolean", spark.BooleanType(), True, True),
    ("int", spark.ByteType(), -128, -128),
    ("int", spark.ShortType(), 32_767, 32_767),
    ("int", spark.IntegerType(), -(2**31), -(2**31)),
    ("long", spark.IntegerType(), 7, 7),
    ("long", spark.LongType(), 2**63 - 1, 2**63 - 1),
    ("float", spark.FloatType(), 0.5, 0.5),
    ("double", spark.DoubleType(), 0.1, 0.1),
    ("double", spark.IntegerType(), 3, 3.0),
    ("string", spark.StringType(), "ü", "ü"),
    ("bytes", spark.BinaryType(), b"\0\xff", b"\0\xff"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, spark.StringType(), "B", "B"),
    ({"type": "fixed", "name": "F", "size": 2}, spark.BinaryType(), b"ab", b"ab"),
    (
        {"type": "int", "logicalType": "date"},
        spark.DateType(),
        datetime.date(1969, 12, 31),
        datetime.date(1969, 12, 31),
    ),
    (
        {"type": "int", "logicalType": "time-millis"},
        spark.TimeType(),
        datetime.time(1, 2, 3, 4_000),
        datetime.time(1, 2, 3, 4_000),
    ),
    (
        {"type": "long", "logicalType": "time-micros"},
        spark.TimeType(),
        datetime.time(1, 2, 3, 4),
        datetime.time(1, 2, 3, 4),
    ),
    ({"type": "long", "logicalType": "timestamp-millis"}, spark.TimestampType(), MOMENT, MOMENT),
    ({"type": "long", "logicalType": "timestamp-micros"}, spark.TimestampType(), MOMENT, MOMENT),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, spark.TimestampNTZType(), LOCAL, LOCAL),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, spark.TimestampNTZType(), LOCAL, LOCAL),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 3},
        spark.DecimalType(5, 2),
        Decimal("-1.25"),
        Decimal("-1.250"),
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 0}, spark.IntegerType(), -7, Decimal(-7)),
    ({"type": "array", "items": ["null", "int"]}, spark.ArrayType(spark.IntegerType()), [1, None], [1, None]),
    ({"type": "map", "values": "int"}, spark.MapType(spark.StringType(), spark.IntegerType()), [("a", 1)], {"a": 1}),
    (["null", "string", "bytes"], spark.BinaryType(), b"x", b"x"),
    (["null", "string", "bytes"], spark.StringType(), None, None),
    (["int", "long"], spark.LongType(), 5, 5),
]


def record(*fields: tuple[str, Any], **defaults: Any) -> str:
    described = [
        {"name": name, "type": kind, **({"default": defaults[name]} if name in defaults else {})}
        for name, kind in fields
    ]
    return json.dumps({"type": "record", "name": "a.R", "fields": described})


def row(*columns: tuple[str, spark.DataType]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in columns])


def read(text: str, data: bytes) -> Any:
    body = io.BytesIO(data)
    value = fastavro.schemaless_reader(body, fastavro.parse_schema(json.loads(text)), None)
    assert not body.read()
    return value


@pytest.mark.parametrize(("schema", "kind", "value", "result"), EXACT)
def test_a_value_is_read_back_as_it_was_written(schema: Any, kind: spark.DataType, value: Any, result: Any) -> None:
    text = record(("c", schema))
    assert read(text, avro_encoder(text, row(("c", kind)))({"c": value})) == {"c": result}
    bare = avro_encoder(json.dumps(schema), row(("c", kind)))
    assert read(json.dumps(schema), bare({"c": value})) == result


@pytest.mark.parametrize(
    ("schema", "kind", "remedy"),
    [
        ("int", spark.LongType(), "CAST(c AS INT)"),
        ("float", spark.DoubleType(), "CAST(c AS FLOAT)"),
        ("double", spark.LongType(), "CAST(c AS DOUBLE)"),
        ("float", spark.IntegerType(), "CAST(c AS FLOAT)"),
        ("string", spark.IntegerType(), "CAST(c AS STRING)"),
        ("long", spark.TimestampType(), "CAST(c AS BIGINT)"),
        (["null", "string"], spark.BinaryType(), "CAST(c AS STRING)"),
        ({"type": "long", "logicalType": "timestamp-millis"}, spark.LongType(), "CAST(c AS TIMESTAMP)"),
        ({"type": "long", "logicalType": "timestamp-millis"}, spark.TimestampNTZType(), "CAST(c AS TIMESTAMP)"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            spark.DecimalType(5, 2),
            "DECIMAL(4, 2)",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
            spark.DecimalType(5, 2),
            "DECIMAL(9, 1)",
        ),
        ({"type": "array", "items": "int"}, spark.ArrayType(spark.LongType()), "INT"),
        ({"type": "map", "values": "int"}, spark.MapType(spark.IntegerType(), spark.IntegerType()), "MAP<STRING"),
        ("string", spark.ArrayType(spark.StringType()), "STRING"),
    ],
)
def test_a_type_that_would_lose_something_is_refused_with_what_to_write(
    schema: Any, kind: spark.DataType, remedy: str
) -> None:
    with pytest.raises(ColumnMismatch, match="c") as refusal:
        avro_encoder(record(("c", schema)), row(("c", kind)))
    assert remedy in str(refusal.value)


def test_columns_without_a_field_and_fields_without_a_column_are_refused() -> None:
    text = record(("id", "int"), ("note", "string"), ("more", ["null", "int"]), more=None)
    with pytest.raises(ColumnMismatch, match="no field for the column extra: leave the column out"):
        avro_encoder(
            text, row(("id", spark.IntegerType()), ("note", spark.StringType()), ("extra", spark.StringType()))
        )
    with pytest.raises(
        ColumnMismatch, match=r"field note \(string\) has no default.*add the column note of type STRING"
    ):
        avro_encoder(text, row(("id", spark.IntegerType())))
    encode = avro_encoder(text, row(("ID", spark.IntegerType()), ("note", spark.StringType())))
    assert read(text, encode({"ID": 1, "note": "a"})) == {"id": 1, "note": "a", "more": None}


def test_defaults_replace_missing_columns() -> None:
    text = record(("id", "int"), ("text", "string"), ("raw", "bytes"), text="x", raw="\u00ff")
    assert read(text, avro_encoder(text, row(("id", spark.IntegerType())))({"id": 1})) == {
        "id": 1,
        "text": "x",
        "raw": b"\xff",
    }


def test_a_named_type_that_is_used_twice_is_written_both_times() -> None:
    inner = {"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]}
    text = record(("one", ["null", inner]), ("two", ["null", "S"]), ("all", {"type": "array", "items": "S"}))
    kind = row(("x", spark.IntegerType()))
    encode = avro_encoder(text, row(("one", kind), ("two", kind), ("all", spark.ArrayType(kind))))
    value = {"one": {"x": 1}, "two": {"x": 2}, "all": [{"x": 3}]}
    assert read(text, encode(value)) == value


@pytest.mark.parametrize(
    ("schema", "kind", "value", "message"),
    [
        ("int", spark.IntegerType(), None, "c is null"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, spark.StringType(), "Z", "not one of A"),
        ({"type": "fixed", "name": "F", "size": 2}, spark.BinaryType(), b"abc", "3 bytes"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            spark.TimestampType(),
            MOMENT.replace(microsecond=1),
            "date_trunc",
        ),
        ({"type": "array", "items": "int"}, spark.ArrayType(spark.IntegerType()), [None], r"c\[\] is null"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(schema: Any, kind: spark.DataType, value: Any, message: str) -> None:
    with pytest.raises(ValueMismatch, match=message):
        avro_encoder(record(("c", schema)), row(("c", kind)))({"c": value})


def test_a_derived_schema_takes_its_columns_and_loses_nothing() -> None:
    columns = row(
        ("flag", spark.BooleanType()),
        ("small", spark.ByteType()),
        ("long", spark.LongType()),
        ("single", spark.FloatType()),
        ("price", spark.DecimalType(12, 4)),
        ("day", spark.DateType()),
        ("clock", spark.TimeType()),
        ("at", spark.TimestampType()),
        ("local", spark.TimestampNTZType()),
        ("tags", spark.ArrayType(spark.StringType())),
        ("counts", spark.MapType(spark.StringType(), spark.LongType())),
        ("by_number", spark.MapType(spark.IntegerType(), spark.StringType())),
        ("place", row(("x", spark.DoubleType()), ("inner", row(("y", spark.BinaryType()))))),
    )
    text = derive_avro(columns, "orders_value")
    value = {
        "flag": True,
        "small": 1,
        "long": 2**40,
        "single": 0.5,
        "price": Decimal("1.2500"),
        "day": datetime.date(2024, 1, 2),
        "clock": datetime.time(1, 2, 3, 4),
        "at": MOMENT.replace(microsecond=123_456),
        "local": LOCAL.replace(microsecond=123_456),
        "tags": ["a", None],
        "counts": [("a", 1), ("b", None)],
        "by_number": [(1, "x")],
        "place": {"x": 1.5, "inner": {"y": b"z"}},
    }
    wanted = {**value, "counts": {"a": 1, "b": None}, "by_number": [{"key": 1, "value": "x"}]}
    encode = avro_encoder(text, columns)
    assert read(text, encode(value)) == wanted
    assert read(text, encode(dict.fromkeys(value))) == dict.fromkeys(value)


def test_columns_that_avro_has_no_type_or_name_for_are_not_derived() -> None:
    with pytest.raises(ColumnMismatch, match="the column v is VARIANT"):
        derive_avro(row(("v", spark.VariantType())), "a")
    with pytest.raises(ColumnMismatch, match="rename it"):
        derive_avro(row(("a b", spark.StringType())), "a")
