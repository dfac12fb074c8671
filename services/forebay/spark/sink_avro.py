"""Encoding of a DataFrame's rows as Avro by a registered schema."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import fastavro
from pyspark.sql import types as spark

from forebay.serde.avro_types import DecimalType
from forebay.serde.decimals import decimal_writer
from forebay.spark.sink_avro_types import TIMES, is_nested, type_ddl, type_text, without_logical_types
from forebay.spark.sink_values import (
    ColumnMismatch,
    Convert,
    ValueMismatch,
    field_names,
    join,
    keep_null,
    misfit,
    missing_field,
    refuse_null,
    same,
)

WHOLE_DIGITS: Mapping[type[spark.DataType], int] = {
    spark.ByteType: 3,
    spark.ShortType: 5,
    spark.IntegerType: 10,
    spark.LongType: 19,
}
_SMALL = (spark.ByteType, spark.ShortType)
_INTS = (*_SMALL, spark.IntegerType)
_LONGS = (*_INTS, spark.LongType)
_PLAIN: Mapping[str, tuple[tuple[type[spark.DataType], ...], Convert]] = {
    "boolean": ((spark.BooleanType,), same),
    "int": (_INTS, same),
    "long": (_LONGS, same),
    "float": ((*_SMALL, spark.FloatType), float),
    "double": ((*_INTS, spark.FloatType, spark.DoubleType), float),
    "string": ((spark.StringType, spark.CharType, spark.VarcharType), same),
    "bytes": ((spark.BinaryType,), same),
}


def avro_encoder(text: str, row: spark.StructType) -> Callable[[Mapping[str, Any]], bytes]:
    """Return a function that encodes rows, without framing.

    Args:
        text: The schema. If it is not a record, rows must have one column.
        row: The columns.

    Raises:
        ColumnMismatch: The columns don't fit. The message says what to change.
        InvalidSchema: The text is not a valid schema. Errors of fastavro are also possible.
    """
    document = json.loads(text)
    plan = _Plan(document)
    convert, name = plan.convert(row)
    bare = plan.bare

    def encode(values: Mapping[str, Any]) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, bare, convert(values if name is None else values[name]))
        return out.getvalue()

    return encode


class _Plan:
    """Plan of the conversions from columns to Avro.

    It traverses the registered schema and a copy without logical types in parallel. Values are written with the copy,
    because the conversions already return values of the base types.
    """

    def __init__(self, document: Any) -> None:
        self._names: dict[str, Any] = {}
        self._bare_names: dict[str, Any] = {}
        self._schema = fastavro.parse_schema(document, self._names)
        self.bare = fastavro.parse_schema(without_logical_types(document), self._bare_names)

    def convert(self, row: spark.StructType) -> tuple[Convert, str | None]:
        """Return the conversion of a row, and the name of the only column if the schema is not a record."""
        schema = self._resolve(self._schema, self._names)
        if isinstance(schema, dict) and schema["type"] in ("record", "error"):
            return self._any(row, self._schema, self.bare, ""), None
        if len(row.fields) != 1:
            raise ColumnMismatch(
                f"the schema is {type_text(schema)}, which takes one column, not {', '.join(row.fieldNames())}: select "
                "one"
            )
        column = row.fields[0]
        return self._any(column.dataType, self._schema, self.bare, column.name), column.name

    def _any(self, kind: spark.DataType, schema: Any, bare: Any, path: str) -> Convert:
        schema, bare = self._resolve(schema, self._names), self._resolve(bare, self._bare_names)
        if isinstance(schema, list):
            return self._union(kind, schema, bare, path)
        return refuse_null(self._single(kind, schema, bare, path), path)

    def _resolve(self, schema: Any, names: Mapping[str, Any]) -> Any:
        if isinstance(schema, str):
            return names.get(schema, {"type": schema})
        return self._resolve(schema["type"], names) if is_nested(schema) else schema

    def _union(self, kind: spark.DataType, schema: list[Any], bare: list[Any], path: str) -> Convert:
        """Return the conversion to the first branch that accepts the type.

        The branch is passed to fastavro, which would otherwise guess it from the value.
        """
        if isinstance(kind, spark.NullType) and "null" in schema:
            return same
        refusals: list[ColumnMismatch] = []
        for branch, plain in zip(schema, bare, strict=True):
            if branch == "null":
                continue
            resolved = self._resolve(branch, self._names)
            try:
                convert = self._single(kind, resolved, self._resolve(plain, self._bare_names), path)
            except ColumnMismatch as refusal:
                refusals.append(refusal)
                continue
            tagged = _tag(convert, _branch_name(plain))
            return keep_null(tagged) if "null" in schema else refuse_null(tagged, path)
        raise refusals[0] if len(refusals) == 1 else misfit(path, kind, " | ".join(map(type_text, schema)), "")

    def _single(self, kind: spark.DataType, schema: Any, bare: Any, path: str) -> Convert:
        base, logical = schema["type"], schema.get("logicalType", "")
        if isinstance(kind, spark.StructType) and base in ("record", "error"):
            return self._record(kind, schema, bare, path)
        if isinstance(kind, spark.ArrayType) and base == "array":
            item = self._any(kind.elementType, schema["items"], bare["items"], f"{path}[]")
            return lambda value: [item(part) for part in value]
        if isinstance(kind, spark.MapType):
            return self._map(kind, schema, bare, path)
        if logical == "decimal" and base in ("bytes", "fixed"):
            return _decimal(kind, schema, path)
        if (base, logical) in TIMES:
            wanted, ddl, make = TIMES[base, logical]
            if not isinstance(kind, wanted):
                raise misfit(path, kind, f"{base} ({logical})", ddl)
            return make(path)
        return _scalar(kind, schema, path)

    def _record(self, row: spark.StructType, schema: Any, bare: Any, path: str) -> Convert:
        fields = {field["name"]: field for field in schema["fields"]}
        plain = {field["name"]: field for field in bare["fields"]}
        columns = field_names(row, fields, f"the schema {schema['name']}", path)
        constants: dict[str, Any] = {}
        for name, field in fields.items():
            if name in columns:
                continue
            if "default" not in field:
                raise missing_field(join(path, name), type_text(field["type"]), type_ddl(field["type"]))
            if isinstance(field["default"], str) and self._is_binary(plain[name]["type"]):
                constants[name] = field["default"].encode("latin-1")
        parts = [
            (name, column.name, self._any(column.dataType, fields[name]["type"], plain[name]["type"], join(path, name)))
            for name, column in columns.items()
        ]
        return lambda value: constants | {name: convert(value[column]) for name, column, convert in parts}

    def _is_binary(self, bare: Any) -> bool:
        """Return whether a default of this type is bytes, which schemas contain as text."""
        resolved = self._resolve(bare[0] if isinstance(bare, list) else bare, self._bare_names)
        return isinstance(resolved, dict) and resolved["type"] in ("bytes", "fixed")

    def _map(self, kind: spark.MapType, schema: Any, bare: Any, path: str) -> Convert:
        if schema["type"] == "map" and isinstance(kind.keyType, spark.StringType):
            item = self._any(kind.valueType, schema["values"], bare["values"], f"{path}[]")
            return lambda value: {key: item(part) for key, part in value}
        items = self._resolve(schema["items"], self._names) if schema["type"] == "array" else None
        if isinstance(items, dict) and [field["name"] for field in items.get("fields", ())] == ["key", "value"]:
            # Kafka Connect writes a map with keys that are not strings as an array of entries.
            row = spark.StructType().add("key", kind.keyType).add("value", kind.valueType)
            entry = self._any(row, schema["items"], bare["items"], path)
            return lambda value: [entry({"key": key, "value": part}) for key, part in value]
        raise misfit(path, kind, type_text(schema), "MAP<STRING, ...>" if schema["type"] == "map" else "")


def _branch_name(branch: Any) -> str:
    """Return the name that fastavro uses for a branch of a union."""
    return branch if isinstance(branch, str) else str(branch.get("name") or branch["type"])


def _tag(convert: Convert, branch: str) -> Convert:
    return lambda value: (branch, convert(value))


def _scalar(kind: spark.DataType, schema: Any, path: str) -> Convert:
    base = schema["type"]
    if base == "enum" and isinstance(kind, spark.StringType):
        symbols = frozenset(schema["symbols"])

        def check_symbol(value: str) -> str:
            if value not in symbols:
                raise ValueMismatch(f"{path} is {value!r}, which is not one of {', '.join(schema['symbols'])}")
            return value

        return check_symbol
    if base == "fixed" and isinstance(kind, spark.BinaryType):
        size = schema["size"]

        def check_size(value: bytes) -> bytes:
            if len(value) != size:
                raise ValueMismatch(f"{path} has {len(value)} bytes, but its field {schema['name']} takes {size}")
            return value

        return check_size
    kinds, convert = _PLAIN.get(base, ((), same))
    if not isinstance(kind, kinds):
        raise misfit(path, kind, type_text(schema), type_ddl(schema))
    return convert


def _decimal(kind: spark.DataType, schema: Any, path: str) -> Convert:
    precision, scale = schema["precision"], schema.get("scale", 0)
    target = DecimalType(precision, scale, schema.get("size"), schema.get("name", ""))
    digits = kind.precision - kind.scale if isinstance(kind, spark.DecimalType) else WHOLE_DIGITS.get(type(kind))
    behind = kind.scale if isinstance(kind, spark.DecimalType) else 0
    if digits is None or digits > precision - scale or behind > scale:
        raise misfit(path, kind, target.text, f"DECIMAL({precision}, {scale})")
    write = decimal_writer(target)
    return lambda value: write(value if isinstance(value, Decimal) else Decimal(value))
