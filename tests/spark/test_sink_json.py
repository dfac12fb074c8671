"""Spark's values are written as JSON that fits the schema and loses nothing, or are rejected."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from pyspark.sql import types as spark

from forebay.spark.sink_derived import derive_json
from forebay.spark.sink_json import json_encoder
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch

MOMENT = datetime.datetime(2024, 3, 31, 1, 30, 0, 123_456, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
CONNECT = "org.apache.kafka.connect.data."


def row(*columns: tuple[str, spark.DataType]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in columns])


def schema(required: tuple[str, ...] = (), **properties: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, "required": list(required)})


@pytest.mark.parametrize(
    ("kind", "column", "value", "text"),
    [
        ({"type": "integer"}, spark.LongType(), 2**63 - 1, "9223372036854775807"),
        ({"type": "integer"}, spark.DecimalType(20, 0), Decimal(10**19), "10000000000000000000"),
        ({"type": "number"}, spark.DecimalType(30, 20), Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        ({"type": "number"}, spark.DoubleType(), 0.1, "0.1"),
        ({"type": "boolean"}, spark.BooleanType(), True, "true"),
        ({"type": ["string", "null"]}, spark.StringType(), "ü", '"ü"'),
        ({"type": ["string", "null"]}, spark.StringType(), None, "null"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, spark.IntegerType(), None, "null"),
        ({"type": "string", "connect.type": "bytes"}, spark.BinaryType(), b"\0\xff", '"AP8="'),
        ({"type": "string", "format": "date"}, spark.DateType(), datetime.date(2024, 1, 2), '"2024-01-02"'),
        ({"type": "string", "format": "date-time"}, spark.TimestampType(), MOMENT, '"2024-03-30T23:30:00.123456Z"'),
        ({"type": "integer", "title": f"{CONNECT}Date"}, spark.DateType(), datetime.date(1970, 1, 2), "1"),
        ({"type": "array", "items": {"type": "integer"}}, spark.ArrayType(spark.IntegerType()), [1, 2], "[1,2]"),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            spark.MapType(spark.StringType(), spark.LongType()),
            [("a", 1)],
            '{"a":1}',
        ),
        ({"$ref": "#/definitions/n"}, spark.IntegerType(), 4, "4"),
    ],
)
def test_a_value_is_written_exactly(kind: Any, column: spark.DataType, value: Any, text: str) -> None:
    document = {**json.loads(schema(c=kind)), "definitions": {"n": {"type": "integer"}}}
    data = json_encoder(json.dumps(document), row(("c", column)))({"c": value})
    assert data.decode() == f'{{"c":{text}}}'
    jsonschema.validate(json.loads(data), document)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ({"type": "integer"}, spark.DoubleType()),
        ({"type": "integer"}, spark.DecimalType(5, 2)),
        ({"type": "string"}, spark.IntegerType()),
        ({"type": "string"}, spark.TimestampType()),
        ({"type": "string"}, spark.BinaryType()),
        ({"type": "integer"}, spark.TimestampType()),
        ({"type": "boolean"}, spark.StringType()),
        ({"type": "array", "items": {"type": "string"}}, spark.ArrayType(spark.LongType())),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, row(("x", spark.LongType()))),
    ],
)
def test_a_type_that_does_not_fit_is_refused(kind: Any, column: spark.DataType) -> None:
    with pytest.raises(ColumnMismatch, match=r"does not fit its field of type .* without loss: "):
        json_encoder(schema(c=kind), row(("c", column)))


def test_columns_without_a_property_and_required_properties_without_a_column_are_refused() -> None:
    text = schema(("id",), id={"type": "integer"}, note={"type": "string"})
    with pytest.raises(ColumnMismatch, match="no field for the column extra"):
        json_encoder(text, row(("id", spark.LongType()), ("extra", spark.StringType())))
    with pytest.raises(ColumnMismatch, match="the field id"):
        json_encoder(text, row(("note", spark.StringType())))
    encode = json_encoder(text, row(("id", spark.LongType()), ("note", spark.StringType())))
    assert encode({"id": 1, "note": None}) == b'{"id":1}', "a property that may be missing but not null is omitted"
    with pytest.raises(ValueMismatch, match="id is null"):
        encode({"id": None, "note": None})


def test_constraints_beyond_types_are_checked_for_each_record() -> None:
    text = schema(c={"type": "integer", "minimum": 3})
    encode = json_encoder(text, row(("c", spark.LongType())))
    assert encode({"c": 3}) == b'{"c":3}'
    with pytest.raises(ValueMismatch, match=r"\$\.c does not fit the JSON Schema: 2 is less than"):
        encode({"c": 2})


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueMismatch, match="c is nan, which JSON can't represent"):
        json_encoder(schema(c={"type": "number"}), row(("c", spark.DoubleType())))({"c": float("nan")})


def test_a_derived_schema_takes_its_columns() -> None:
    columns = row(
        ("id", spark.LongType()),
        ("price", spark.DecimalType(12, 4)),
        ("at", spark.TimestampType()),
        ("local", spark.TimestampNTZType()),
        ("raw", spark.BinaryType()),
        ("place", row(("x", spark.DoubleType()))),
        ("counts", spark.MapType(spark.StringType(), spark.LongType())),
        ("tags", spark.ArrayType(spark.StringType())),
    )
    text = derive_json(columns, "orders")
    encode = json_encoder(text, columns)
    value = {
        "id": 1,
        "price": Decimal("1.2500"),
        "at": MOMENT,
        "local": MOMENT.replace(tzinfo=None),
        "raw": b"a",
        "place": {"x": 1.0},
        "counts": [("a", None)],
        "tags": ["x", None],
    }
    for values in (value, dict.fromkeys(value)):
        jsonschema.validate(json.loads(encode(values)), json.loads(text))


def test_a_required_field_without_a_column_is_written_with_its_default() -> None:
    schema = {
        "type": "object",
        "required": ["id", "kind"],
        "properties": {"id": {"type": "integer"}, "kind": {"$ref": "#/definitions/Kind"}},
        "definitions": {"Kind": {"type": "string", "default": "new"}},
    }
    columns = spark.StructType().add("id", spark.LongType())
    assert json_encoder(json.dumps(schema), columns)({"id": 1}) == b'{"kind":"new","id":1}'
    schema["definitions"] = {"Kind": {"type": "string", "default": 7}}
    with pytest.raises(ValueMismatch, match=r"\$\.kind does not fit the JSON Schema"):
        json_encoder(json.dumps(schema), columns)({"id": 1})
