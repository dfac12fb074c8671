"""Columns of a history are written as JSON without a schema that the formats of DSL, SQL and KSML can read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as spark

from forebay.formats import LONG, TEXT, Format
from forebay.ksml.formats import JSON as ANY_JSON
from forebay.records import Record
from forebay.serde.json_format import JSON, json_of
from forebay.spark.history_json import json_encoder, reads_json
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch
from tests.sql.driven import Driven as Statements


class Reading(Record):
    """A value of the DSL."""

    sensor: str
    reading: float


def sql_format(value_format: str) -> Format[Any]:
    columns = "ID BIGINT, N INT, D DATE, T TIMESTAMP, M MAP<STRING, INT>, P DECIMAL(9, 2)"
    declared = f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='in', PARTITIONS=1, VALUE_FORMAT='{value_format}');"
    job = Statements(f"{declared} CREATE STREAM a AS SELECT * FROM s;").driver._job
    kind = job.read_format_of("in").value
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (spark.LongType(), 2**62, 2**62),
        (spark.DoubleType(), 0.5, 0.5),
        (spark.StringType(), "ä", "ä"),
        (spark.BooleanType(), True, True),
        (spark.DecimalType(9, 2), Decimal("1.50"), 1.5),
        (spark.BinaryType(), b"\0\xff", "AP8="),
        (spark.DateType(), date(1970, 1, 3), 2),
        (spark.TimeType(), time(0, 0, 1), 1_000),
        (spark.TimestampType(), datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), 2_000),
        (spark.ArrayType(spark.DateType()), [date(1970, 1, 2), None], [1, None]),
        (spark.MapType(spark.StringType(), spark.IntegerType()), [("a", 1)], {"a": 1}),
        (spark.StructType().add("at", spark.TimestampType()), {"at": None}, {"at": None}),
        (spark.LongType(), None, None),
    ],
    ids=str,
)
def test_values_are_as_ksqldb_and_connect_write_them(kind: spark.DataType, value: Any, shown: Any) -> None:
    encode = json_encoder(spark.StructType().add("c", kind))
    assert json.loads(encode({"c": value}) or b"") == {"c": shown}


def test_a_time_that_would_be_rounded_is_refused() -> None:
    encode = json_encoder(spark.StructType().add("at", spark.TimestampType()))
    with pytest.raises(ValueMismatch, match="at"):
        encode({"at": datetime(1970, 1, 1, 0, 0, 0, 1, UTC)})


@pytest.mark.parametrize(
    "kind", [spark.TimestampNTZType(), spark.ArrayType(spark.StructType().add("at", spark.TimestampNTZType()))], ids=str
)
def test_a_time_without_a_zone_is_refused(kind: spark.DataType) -> None:
    with pytest.raises(
        ColumnMismatch, match="c has a time without a zone, which plain JSON lacks: CAST it to TIMESTAMP"
    ):
        json_encoder(spark.StructType().add("c", kind))


def test_a_field_may_be_called_like_a_type() -> None:
    kind = spark.StructType().add("timestamp_ntz", spark.StringType())
    assert json_encoder(spark.StructType().add("c", kind))({"c": {"timestamp_ntz": "x"}})


def test_only_json_formats_read_plain_json() -> None:
    assert all(reads_json(kind) for kind in (JSON, ANY_JSON, json_of(Reading), sql_format("JSON")))
    assert not any(reads_json(kind) for kind in (TEXT, LONG, sql_format("AVRO"), sql_format("JSON_SR")))
    encode = json_encoder(spark.StructType().add("sensor", spark.StringType()).add("reading", spark.DoubleType()))
    data = encode({"sensor": "a", "reading": 0.5}) or b""
    assert json_of(Reading).codec(lambda _record: pytest.fail("JSON needs no contract")).decode(data) == Reading(
        "a", 0.5
    )


def test_sql_reads_each_type_of_its_columns() -> None:
    row = (
        spark.StructType()
        .add("id", spark.LongType())
        .add("n", spark.IntegerType())
        .add("d", spark.DateType())
        .add("t", spark.TimestampType())
        .add("m", spark.MapType(spark.StringType(), spark.IntegerType()))
        .add("p", spark.DecimalType(9, 2))
    )
    values = {"id": 1, "n": 2, "d": date(1970, 1, 3), "t": datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), "m": [("a", 1)]}
    data = json_encoder(row)({**values, "p": Decimal("1.50")}) or b""
    decoded = sql_format("JSON").codec(lambda _record: pytest.fail("JSON needs no contract")).decode(data)
    assert decoded == (1, 2, 2, 4_000, {"a": 1}, Decimal("1.50"))
