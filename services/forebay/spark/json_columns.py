"""Mapping of JSON Schema types to Spark types, and conversion of JSON values to them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_type

from forebay.codec import DecodeError
from forebay.spark.columns import (
    MOST_DIGITS,
    Column,
    ColumnCount,
    array,
    convert_part,
    declared_decimal,
    exact_decimal,
    mapping,
    time_of_day,
)

_CONNECT = "org.apache.kafka.connect.data."
_INTEGERS: Mapping[str, spark.DataType] = {
    "int8": spark.ByteType(),
    "int16": spark.ShortType(),
    "int32": spark.IntegerType(),
}
_TIMES: Mapping[str, Column] = {
    f"{_CONNECT}Date": Column(spark.DateType()),
    f"{_CONNECT}Time": Column(spark.TimeType(), time_of_day(1_000_000)),
    f"{_CONNECT}Timestamp": Column(spark.TimestampType(), lambda ms: ms * 1_000),
}


def json_column(text: str) -> Column:
    """Return the column for the values of a JSON Schema. A part that Spark can't express becomes a string of JSON.

    Raises:
        SchemaNotSupported: The schema has too many columns.
    """
    return _plan_of(text)[1]


def json_reader(text: str) -> Callable[[bytes], Any]:
    """Return a function that reads JSON as values of `json_column`. It raises DecodeError."""
    plan, _ = _plan_of(text)
    decode = msgspec.json.Decoder(float_hook=Decimal if plan.keeps_digits else None).decode

    def read_json(data: bytes) -> Any:
        try:
            return decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DecodeError(f"not JSON: {error}") from error

    return read_json


def _plan_of(text: str) -> tuple[_Plan, Column]:
    # A default may belong to a decimal, and a float would lose digits.
    document = json.loads(text, parse_float=Decimal)
    plan = _Plan(document)
    return plan, plan.column(document, ())


class _Plan:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._count = ColumnCount()
        self.keeps_digits = False
        """Whether a column can have digits that a DOUBLE would lose."""

    def column(self, schema: Any, through: tuple[str, ...]) -> Column:
        """Return the column of a schema.

        Args:
            schema: The schema, or a reference to one.
            through: The references that contain this schema. A schema that contains itself becomes JSON text.
        """
        while isinstance(schema, Mapping) and "$ref" in schema:
            if schema["$ref"] in through:
                return self._text()
            through, schema = (*through, schema["$ref"]), self._target(schema["$ref"])
        if not isinstance(schema, Mapping):
            return self._text()
        branches = schema.get("oneOf") or schema.get("anyOf")
        if branches:
            others = [branch for branch in branches if branch != {"type": "null"}]
            if len(others) != 1:
                return self._text()
            return self.column(others[0], through)._replace(is_nullable=True)
        kinds = schema.get("type", "object" if "properties" in schema else [])
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        values = [name for name in names if name != "null"]
        if len(values) != 1:
            return self._text()
        column = self._single(values[0], schema, through)
        return column._replace(is_nullable=column.is_nullable or len(values) < len(names))

    def _single(self, kind: str, schema: Mapping[str, Any], through: tuple[str, ...]) -> Column:
        title = schema.get("title", "")
        match kind:
            case "integer" if title in _TIMES:
                return _TIMES[title]
            case "integer":
                return _of_kind(_INTEGERS.get(schema.get("connect.type", ""), spark.LongType()), _whole)
            case "number" if (decimal := _connect_decimal(schema)) is not None:
                self.keeps_digits = True
                return decimal
            case "number" if schema.get("connect.type") == "float32":
                return _of_kind(spark.FloatType(), _number)
            case "number":
                return _of_kind(spark.DoubleType(), _number)
            case "boolean":
                return _of_kind(spark.BooleanType(), _boolean)
            case "string" if title == f"{_CONNECT}Decimal":
                return self._text()
            case "string" if schema.get("connect.type") == "bytes" or schema.get("contentEncoding") == "base64":
                return _of_kind(spark.BinaryType(), _base64)
            case "string":
                return _of_kind(spark.StringType(), _text)
            case "array":
                return _require(array(self.column(schema.get("items"), through)), list)
            case "object":
                return self._object(schema, through)
        return self._text()

    def _object(self, schema: Mapping[str, Any], through: tuple[str, ...]) -> Column:
        properties: Mapping[str, Any] = schema.get("properties", {})
        if not properties:
            return _require(mapping(self.column(schema.get("additionalProperties"), through)), dict)
        self._count.add(len(properties))
        required = frozenset(schema.get("required", ()))
        parts = {name: self.column(part, through) for name, part in properties.items()}
        columns = {
            name: column if name in required else column._replace(is_nullable=True) for name, column in parts.items()
        }
        kind = spark.StructType(
            [spark.StructField(name, column.kind, column.is_nullable) for name, column in columns.items()]
        )

        defaults = {
            name: default
            for name, column in columns.items()
            if (default := _default_of(column, self._default(properties[name]))) is not None
        }

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            return {
                name: defaults[name]
                if name in defaults and name not in value
                else convert_part(column, value.get(name), name)
                for name, column in columns.items()
            }

        return _require(Column(kind, convert), dict)

    def _default(self, schema: Any) -> Any:
        """Return the default of a property, as written in the schema, or None."""
        seen = set[str]()
        while isinstance(schema, Mapping) and "default" not in schema and schema.get("$ref", "") not in seen | {""}:
            seen.add(schema["$ref"])
            schema = self._target(schema["$ref"])
        return schema.get("default") if isinstance(schema, Mapping) else None

    def _text(self) -> Column:
        self.keeps_digits = True
        return _TEXT

    def _target(self, reference: str) -> Any:
        target = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            target = target.get(part) if part and isinstance(target, Mapping) else target
        return target


_LENGTH_OF_DIGITS = 3
_encode = msgspec.json.Encoder(decimal_format="number").encode
_TEXT = Column(spark.StringType(), lambda value: _encode(value).decode(), is_nullable=True)


def _connect_decimal(schema: Mapping[str, Any]) -> Column | None:
    """Return the column of Kafka Connect's Decimal, or None if the schema is of another number."""
    if schema.get("title") != f"{_CONNECT}Decimal":
        return None
    parameters = schema.get("connect.parameters") or {}
    digits, scale = (
        str(parameters.get(name, unset)) for name, unset in (("connect.decimal.precision", MOST_DIGITS), ("scale", ""))
    )
    if not all(text.isdecimal() and len(text) <= _LENGTH_OF_DIGITS for text in (digits, scale)):
        return None
    if not 0 < int(digits) >= int(scale):
        return None
    kind = declared_decimal(int(digits), int(scale))
    fit = exact_decimal(kind.precision, kind.scale)
    return Column(kind, lambda value: fit(_decimal(value)))


def _default_of(column: Column, default: Any) -> Any:
    """Return the value of a property that a record lacks: its default, as in Kafka Connect, or None.

    A default that its own column can't hold is ignored, because every record without the property would fail.
    """
    if default is None:
        return None
    try:
        value = default if column.convert is None else column.convert(default)
        pa.array([value], to_arrow_type(column.kind, timezone="UTC"))
    except (DecodeError, ValueError, TypeError, ArithmeticError):
        return None
    return value


def _require(column: Column, kind: type) -> Column:
    """Return the column with a conversion that refuses values of other Python types."""
    inner = column.convert

    def convert(value: Any) -> Any:
        if not isinstance(value, kind):
            raise DecodeError(f"{value!r:.60} is not a valid {'object' if kind is dict else 'array'}")
        return value if inner is None else inner(value)

    return column._replace(convert=convert)


def _of_kind(kind: spark.DataType, convert: Callable[[Any], Any]) -> Column:
    return Column(kind, convert)


def _whole(value: Any) -> int:
    if isinstance(value, Decimal) and value.adjusted() > MOST_DIGITS:
        raise DecodeError(f"{value!s:.60} is too large")
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value != int(value):
        raise DecodeError(f"{value!r:.60} is not a whole number")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise DecodeError(f"{value!r:.60} is not a number")
    if isinstance(value, float):
        return value
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isinf(result):
        raise DecodeError(f"{value!s:.60} is larger than any DOUBLE")
    return result


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise DecodeError(f"{value!r:.60} is not a number")
    return Decimal(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DecodeError(f"{value!r:.60} is neither true nor false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DecodeError(f"{value!r:.60} is not text")
    return value


def _base64(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError as error:
        raise DecodeError(f"{value!r:.60} is not base64") from error
