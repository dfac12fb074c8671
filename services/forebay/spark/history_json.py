"""Encoding of a history's columns as JSON objects, for inputs whose values are JSON without a registered schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as spark

from forebay.formats import JSON_WIRE, Format
from forebay.serde.framing import HEADER_BYTES
from forebay.spark.sink_derived import derive_json
from forebay.spark.sink_encoding import Encode, Encoding
from forebay.spark.sink_values import ColumnMismatch

_CONNECT = "org.apache.kafka.connect.data."
_NUMBERS: Mapping[str, str] = {"date": "Date", "time": "Time", "date-time": "Timestamp"}
"""Time types that ksqlDB and Kafka Connect write in plain JSON as whole numbers of days or ms."""


def reads_json(kind: Format[Any]) -> bool:
    """Return whether a format reads JSON without a schema."""
    return kind.wire == JSON_WIRE or getattr(kind.wire, "kind", "") == "JSON"


def check_json_columns(row: spark.StructType, declared: Mapping[str, str]) -> None:
    """Check that a history's columns are declared, because the reader would ignore other columns.

    Args:
        row: The columns of the history.
        declared: Names of the declared columns, by their names in lower case.

    Raises:
        ColumnMismatch: A column is not declared.
    """
    unknown = [name for name in row.fieldNames() if name.casefold() not in declared]
    if unknown:
        raise ColumnMismatch(
            f"the columns {', '.join(unknown)} are not declared: choose from {', '.join(declared.values())}"
        )


def json_encoder(row: spark.StructType) -> Encode:
    """Return a function that encodes columns as the fields of a JSON object.

    Raises:
        ColumnMismatch: JSON has no representation of a column's type.
    """
    for field in row.fields:
        # It would be written as text, but a TIMESTAMP column of a SQL statement is read from a number of ms.
        if _has_local_time(field.dataType):
            raise ColumnMismatch(
                f"{field.name} has a time without a zone, which plain JSON lacks: CAST it to TIMESTAMP"
            )
    schema = json.dumps(_with_numbers(json.loads(derive_json(row, "value"))))
    encode = Encoding("json_schema", row, schema).encoder()
    return lambda values: (encode(values) or b"")[HEADER_BYTES:]


def _has_local_time(kind: spark.DataType) -> bool:
    match kind:
        case spark.ArrayType():
            return _has_local_time(kind.elementType)
        case spark.MapType():
            return _has_local_time(kind.valueType)
        case spark.StructType():
            return any(_has_local_time(field.dataType) for field in kind.fields)
    return isinstance(kind, spark.TimestampNTZType)


def _with_numbers(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_numbers(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string" and schema.get("format") in _NUMBERS:
        return {"type": "integer", "title": _CONNECT + _NUMBERS[schema["format"]]}
    return {name: _with_numbers(part) for name, part in schema.items()}
