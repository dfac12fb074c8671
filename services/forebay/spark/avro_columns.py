"""Mapping of Avro types to Spark types, and conversion of values to them.

Values are decoded without their logical types, so that times remain whole numbers. Times outside of Python's range are
therefore possible, and nothing is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pyspark.sql import types as spark

from forebay.spark.columns import (
    Column,
    ColumnCount,
    array,
    decimal_of,
    declared_decimal,
    exact_decimal,
    mapping,
    struct,
    time_of_day,
)
from forebay.spark.errors import SchemaNotSupported

_PRIMITIVES: Mapping[str, spark.DataType] = {
    "boolean": spark.BooleanType(),
    "int": spark.IntegerType(),
    "long": spark.LongType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "string": spark.StringType(),
    "null": spark.NullType(),
}
_LOGICAL: Mapping[tuple[str, str], Column] = {
    ("int", "date"): Column(spark.DateType()),
    ("int", "time-millis"): Column(spark.TimeType(), time_of_day(1_000_000)),
    ("long", "time-micros"): Column(spark.TimeType(), time_of_day(1_000)),
    ("long", "timestamp-millis"): Column(spark.TimestampType(), lambda ms: ms * 1_000),
    ("long", "timestamp-micros"): Column(spark.TimestampType()),
    ("long", "local-timestamp-millis"): Column(spark.TimestampNTZType(), lambda ms: ms * 1_000),
    ("long", "local-timestamp-micros"): Column(spark.TimestampNTZType()),
}
_WIDENED = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}


def avro_column(text: str) -> Column:
    """Return the column for the values of an Avro schema.

    Raises:
        SchemaNotSupported: Spark can't express the schema.
    """
    return _Plan().column(json.loads(text), "", "value")


class _Plan:
    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._open: list[str] = []
        self._count = ColumnCount()

    def column(self, schema: Any, namespace: str, path: str) -> Column:
        if isinstance(schema, list):
            return self._union(schema, namespace, path)
        if isinstance(schema, str):
            if schema == "bytes":
                return _BYTES
            if schema in _PRIMITIVES:
                return Column(_PRIMITIVES[schema], is_nullable=schema == "null")
            return self._reference(_full_name(schema, namespace), path)
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.column(kind, namespace, path)
        match kind:
            case "record" | "error":
                return self._record(schema, namespace, path)
            case "enum":
                self._define(schema, namespace)
                return Column(spark.StringType())
            case "fixed":
                self._define(schema, namespace)
                return _decimal(schema) or _BYTES
            case "array":
                return array(self.column(schema["items"], namespace, f"{path}[]"))
            case "map":
                return mapping(self.column(schema["values"], namespace, f"{path}[]"))
            case "bytes":
                return _decimal(schema) or _BYTES
            case _:
                return _LOGICAL.get((kind, schema.get("logicalType", ""))) or self.column(kind, namespace, path)

    def _union(self, branches: list[Any], namespace: str, path: str) -> Column:
        values = [branch for branch in branches if branch != "null"]
        if not values:
            return Column(spark.NullType(), is_nullable=True)
        is_nullable = len(values) < len(branches)
        if len(values) > 1:
            widened = _WIDENED.get(frozenset(value if isinstance(value, str) else "" for value in values))
            if widened is None:
                raise SchemaNotSupported(
                    f"{path} is a union of {len(values)} types, which Spark has no type for: read it with "
                    "valueFormat=bytes, or use one field for each alternative"
                )
            values = [widened]
        column = self.column(values[0], namespace, path)
        return column._replace(is_nullable=is_nullable or column.is_nullable)

    def _record(self, schema: Mapping[str, Any], namespace: str, path: str) -> Column:
        name = self._define(schema, namespace)
        inner = name.rpartition(".")[0]
        self._open.append(name)
        self._count.add(len(schema["fields"]))
        fields = [
            (field["name"], self.column(field["type"], inner, f"{path}.{field['name']}")) for field in schema["fields"]
        ]
        self._open.pop()
        return struct(fields)

    def _define(self, schema: Mapping[str, Any], namespace: str) -> str:
        name = _full_name(schema["name"], schema.get("namespace", namespace))
        self._named[name] = (schema, namespace)
        return name

    def _reference(self, name: str, path: str) -> Column:
        if name in self._open:
            raise SchemaNotSupported(
                f"{path} has the recursive type {name}, for which Spark has no type: read it with valueFormat=bytes"
            )
        if name not in self._named:
            raise SchemaNotSupported(f"{path} refers to {name}, which the schema does not define")
        schema, namespace = self._named[name]
        return self.column(schema, namespace, path)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _decimal(schema: Mapping[str, Any]) -> Column | None:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if schema.get("logicalType") != "decimal" or not isinstance(precision, int) or not isinstance(scale, int):
        return None
    if not 0 <= scale <= precision or not precision:
        # Avro's specification requires readers to ignore an invalid logical type.
        return None
    kind = declared_decimal(precision, scale)
    fit = exact_decimal(kind.precision, kind.scale)

    def convert(value: Decimal | str) -> Any:
        return fit(value if isinstance(value, Decimal) else decimal_of(_bytes(value), scale))

    return Column(kind, convert)


def _bytes(value: bytes | str) -> bytes:
    """Return the value as bytes. A default from the reader's schema is still text, because schemas are JSON."""
    return value.encode("latin-1") if isinstance(value, str) else value


_BYTES = Column(spark.BinaryType(), _bytes)
