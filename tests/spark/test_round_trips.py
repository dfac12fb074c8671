"""If the sink writes values with its own schema, the source reads the same values with the same types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_type

from forebay.serde.generic import GenericDecoder
from forebay.serde.proto_messages import read_path
from forebay.serde.schema import Schema
from forebay.spark.avro_columns import avro_column
from forebay.spark.columns import Column
from forebay.spark.json_columns import json_column, json_reader
from forebay.spark.protobuf_columns import protobuf_column, protobuf_reader
from forebay.spark.sink_avro import avro_encoder
from forebay.spark.sink_derived import derive_avro, derive_json, derive_protobuf
from forebay.spark.sink_json import json_encoder
from forebay.spark.sink_protobuf import protobuf_encoder
from forebay.spark.sink_values import ValueMismatch

Coding = tuple[Column, Callable[[Any], bytes], Callable[[bytes], Any]]
POINT = spark.StructType().add("x", spark.IntegerType())
CASES: list[tuple[str, spark.DataType, list[Any]]] = [
    ("ajp", spark.BooleanType(), [True, False]),
    ("j", spark.ByteType(), [-128, 127]),
    ("ajp", spark.IntegerType(), [-(2**31), 2**31 - 1]),
    ("ajp", spark.LongType(), [-(2**63), 2**63 - 1, 2**53 + 1]),
    ("ajp", spark.FloatType(), [1.1, 1e-45, 3.4028234663852886e38]),
    ("ajp", spark.DoubleType(), [0.1, 5e-324, 1.7976931348623157e308, 123456789012345680.0]),
    ("ap", spark.DoubleType(), [math.inf, -math.inf]),
    ("ajp", spark.DecimalType(38, 18), [Decimal("-12345678901234567890.123456789012345678"), Decimal(0)]),
    ("ajp", spark.DecimalType(12, 4), [Decimal("-12345678.0001"), Decimal("0.0000")]),
    ("ap", spark.ArrayType(spark.DecimalType(9, 2), False), [[Decimal("1.10")]]),
    ("ap", spark.MapType(spark.StringType(), spark.DecimalType(9, 0), False), [[("a", Decimal(-7))]]),
    ("ajp", spark.DecimalType(38, 0), [Decimal(10**38 - 1), Decimal(1 - 10**38)]),
    ("ajp", spark.DecimalType(38, 38), [Decimal(f"0.{'9' * 38}")]),
    ("ajp", spark.StringType(), ["", "\0", "ä𝄞", '\u2028\\"']),
    ("ajp", spark.BinaryType(), [b"", b"\0\xff"]),
    ("ajp", spark.DateType(), [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    ("ap", spark.TimeType(), [time(0), time(23, 59, 59, 999_999)]),
    ("ap", spark.TimestampType(), [datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)]),
    ("ap", spark.TimestampType(), [datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)]),
    ("a", spark.TimestampNTZType(), [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
    ("p", spark.DayTimeIntervalType(), [timedelta(microseconds=-1), timedelta(days=-3, microseconds=7)]),
    ("aj", spark.ArrayType(spark.IntegerType()), [[], [1, None]]),
    ("aj", spark.ArrayType(spark.ArrayType(spark.LongType())), [[[1], [], None]]),
    ("aj", spark.MapType(spark.StringType(), spark.LongType()), [[], [("", 1), ("a", None)]]),
    ("ajp", spark.MapType(spark.StringType(), POINT), [[("a", {"x": None})], [("b", {"x": 1})]]),
    ("ajp", spark.StructType().add("p", POINT), [{"p": {"x": 1}}, {"p": {"x": None}}, {"p": None}]),
]


class OneSchema:
    """A registry of one schema."""

    def __init__(self, text: str) -> None:
        self._schema = Schema(text)

    def schema(self, schema_id: int) -> Schema:
        return self._schema


def coding(form: str, row: spark.StructType) -> Coding:
    if form == "a":
        text = derive_avro(row, "A")
        decode = GenericDecoder(OneSchema(text), plain=True, reader=json.loads(text)).decode
        return avro_column(text), avro_encoder(text, row), lambda data: decode(b"\0\0\0\0\1" + data)
    if form == "j":
        text = derive_json(row, "A")
        return json_column(text), json_encoder(text, row), json_reader(text)
    text = derive_protobuf(row, "A")
    read = protobuf_reader(text)
    return protobuf_column(text), protobuf_encoder(text, row), lambda data: read(data[read_path(data, 0)[1] :])


@pytest.mark.parametrize(("forms", "kind", "values"), CASES)
def test_values_are_read_as_they_were_written(forms: str, kind: spark.DataType, values: list[Any]) -> None:
    row = spark.StructType().add("c", kind)
    for form in forms:
        column, encode, decode = coding(form, row)
        assert column.kind.simpleString() == row.simpleString()
        # Protobuf can't represent null for a repeated field or a map.
        nulls = [] if form == "p" and isinstance(kind, spark.ArrayType | spark.MapType) else [None]
        for value in [*values, *nulls]:
            (given,) = pa.array([{"c": value}], to_arrow_type(row, timezone="UTC")).to_pylist()
            decoded = decode(encode(given))
            converted = decoded if column.convert is None else column.convert(decoded)
            (shown,) = pa.array([converted], to_arrow_type(column.kind, timezone="UTC")).to_pylist()
            assert shown == given, form


def test_the_remedy_for_a_null_fits_the_field() -> None:
    row = spark.StructType().add("c", spark.ArrayType(spark.LongType()))
    with pytest.raises(ValueMismatch, match=r"write coalesce\(c, array\(\)\)$"):
        coding("p", row)[1]({"c": None})
    row = spark.StructType().add("c", spark.LongType())
    text = 'syntax = "proto3"; message A { int64 c = 1; }'
    with pytest.raises(ValueMismatch, match=r"coalesce.*, or declare the field `optional`$"):
        protobuf_encoder(text, row)({"c": None})
