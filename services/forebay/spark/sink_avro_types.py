"""Spark types that correspond to Avro types, for conversions and for error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import types as spark

from forebay.spark.sink_values import (
    Convert,
    ValueMismatch,
    days,
    in_milliseconds,
    microseconds,
    microseconds_of_day,
)

_DDL = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "BINARY",
    "enum": "STRING",
    "fixed": "BINARY",
}


def _nanoseconds(path: str) -> Convert:
    def multiply(value: Any) -> int:
        result = microseconds(value) * 1_000
        if not -(1 << 63) <= result < 1 << 63:
            raise ValueMismatch(
                f"{path} is {value}, but timestamps in nanoseconds range from the year 1677 to 2262: filter such "
                "rows, or use a field in microseconds"
            )
        return result

    return multiply


TIMES: Mapping[tuple[str, str], tuple[type[spark.DataType], str, Callable[[str], Convert]]] = {
    ("int", "date"): (spark.DateType, "DATE", lambda _: days),
    ("int", "time-millis"): (spark.TimeType, "TIME(3)", lambda path: in_milliseconds(microseconds_of_day, path)),
    ("long", "time-micros"): (spark.TimeType, "TIME(6)", lambda _: microseconds_of_day),
    ("long", "timestamp-millis"): (spark.TimestampType, "TIMESTAMP", lambda path: in_milliseconds(microseconds, path)),
    ("long", "timestamp-micros"): (spark.TimestampType, "TIMESTAMP", lambda _: microseconds),
    ("long", "timestamp-nanos"): (spark.TimestampType, "TIMESTAMP", _nanoseconds),
    ("long", "local-timestamp-millis"): (
        spark.TimestampNTZType,
        "TIMESTAMP_NTZ",
        lambda path: in_milliseconds(microseconds, path),
    ),
    ("long", "local-timestamp-micros"): (spark.TimestampNTZType, "TIMESTAMP_NTZ", lambda _: microseconds),
    ("long", "local-timestamp-nanos"): (spark.TimestampNTZType, "TIMESTAMP_NTZ", _nanoseconds),
}
"""Spark type, its name, and a function that creates the conversion for a path, by Avro type and logical type."""


def is_nested(schema: Any) -> bool:
    """Return whether a schema only wraps another schema, as {"type": {"type": "record", ...}} does."""
    return isinstance(schema, dict) and isinstance(schema["type"], dict | list)


def type_text(schema: Any) -> str:
    """Return a type as error messages show it."""
    if isinstance(schema, list):
        return " | ".join(map(type_text, schema))
    if isinstance(schema, str):
        return schema
    base = schema["type"]
    if not isinstance(base, str):
        return type_text(base)
    if base in ("record", "error", "enum", "fixed"):
        return f"{base} {schema['name']}"
    return f"{base} ({schema['logicalType']})" if "logicalType" in schema else base


def type_ddl(schema: Any) -> str:
    """Return the name of the Spark type that fits an Avro type without loss, or "" if there is no single type."""
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null"]
        return type_ddl(branches[0]) if len(branches) == 1 else ""
    if isinstance(schema, str):
        return _DDL.get(schema, "")
    base, logical = schema["type"], schema.get("logicalType", "")
    if not isinstance(base, str):
        return type_ddl(base)
    if logical == "decimal":
        return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
    return TIMES[base, logical][1] if (base, logical) in TIMES else _DDL.get(base, "")


def without_logical_types(document: Any) -> Any:
    """Return the schema without logical types. It describes the same bytes."""
    if isinstance(document, list):
        return [without_logical_types(part) for part in document]
    if not isinstance(document, dict):
        return document
    return {
        name: part if name == "default" else without_logical_types(part)
        for name, part in document.items()
        if name != "logicalType"
    }
