"""Derivation of schemas from a DataFrame's columns, for subjects without a schema. Reading returns the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import types as spark

from forebay.serde.proto_messages import META_FILE, decimal_option
from forebay.spark.sink_values import ColumnMismatch, join

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONNECT = "org.apache.kafka.connect.data."
_TEXTS = (spark.StringType, spark.CharType, spark.VarcharType)
_AVRO: Mapping[type[spark.DataType], Any] = {
    spark.BooleanType: "boolean",
    spark.ByteType: "int",
    spark.ShortType: "int",
    spark.IntegerType: "int",
    spark.LongType: "long",
    spark.FloatType: "float",
    spark.DoubleType: "double",
    spark.BinaryType: "bytes",
    **dict.fromkeys(_TEXTS, "string"),
    spark.DateType: {"type": "int", "logicalType": "date"},
    spark.TimeType: {"type": "long", "logicalType": "time-micros"},
    spark.TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    spark.TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}
_JSON: Mapping[type[spark.DataType], dict[str, Any]] = {
    spark.BooleanType: {"type": "boolean"},
    spark.ByteType: {"type": "integer", "connect.type": "int8"},
    spark.ShortType: {"type": "integer", "connect.type": "int16"},
    spark.IntegerType: {"type": "integer", "connect.type": "int32"},
    spark.LongType: {"type": "integer", "connect.type": "int64"},
    spark.FloatType: {"type": "number", "connect.type": "float32"},
    spark.DoubleType: {"type": "number", "connect.type": "float64"},
    spark.BinaryType: {"type": "string", "connect.type": "bytes"},
    **{kind: {"type": "string"} for kind in _TEXTS},
    spark.DateType: {"type": "integer", "title": f"{_CONNECT}Date", "connect.type": "int32"},
    spark.TimeType: {"type": "string", "format": "time"},
    spark.TimestampType: {"type": "string", "format": "date-time"},
    spark.TimestampNTZType: {"type": "string", "format": "local-date-time"},
}
_PROTO: Mapping[type[spark.DataType], str] = {
    spark.BooleanType: "bool",
    spark.ByteType: "int32",
    spark.ShortType: "int32",
    spark.IntegerType: "int32",
    spark.LongType: "int64",
    spark.FloatType: "float",
    spark.DoubleType: "double",
    spark.BinaryType: "bytes",
    **dict.fromkeys(_TEXTS, "string"),
}
_PROTO_MESSAGES: Mapping[type[spark.DataType], tuple[str, str]] = {
    spark.DateType: ("google.type.Date", "google/type/date.proto"),
    spark.TimeType: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    spark.TimestampType: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    spark.DayTimeIntervalType: ("google.protobuf.Duration", "google/protobuf/duration.proto"),
    spark.DecimalType: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
}


def derive_avro(row: spark.StructType, name: str) -> str:
    """Return an Avro schema for rows. Raises ColumnMismatch if Avro does not support a column's type or name."""
    return json.dumps(_avro_record(row, name, ""))


def _avro_record(row: spark.StructType, name: str, path: str) -> dict[str, Any]:
    fields = []
    for column in row.fields:
        place = join(path, column.name)
        _check_name(place, column.name, "Avro")
        kind = _avro(column.dataType, f"{name}_{column.name}", place)
        default = {"default": None} if column.nullable else {}
        fields.append({"name": column.name, "type": ["null", kind] if column.nullable else kind, **default})
    return {"type": "record", "name": name, "fields": fields}


def _avro(kind: spark.DataType, name: str, path: str) -> Any:
    match kind:
        case spark.StructType():
            return _avro_record(kind, name, path)
        case spark.ArrayType():
            item = _avro(kind.elementType, name, f"{path}[]")
            return {"type": "array", "items": ["null", item] if kind.containsNull else item}
        case spark.MapType() if isinstance(kind.keyType, _TEXTS):
            value = _avro(kind.valueType, name, f"{path}[]")
            return {"type": "map", "values": ["null", value] if kind.valueContainsNull else value}
        case spark.MapType():
            entry = spark.StructType().add("key", kind.keyType, nullable=False)
            return {"type": "array", "items": _avro_record(entry.add("value", kind.valueType), name, path)}
        case spark.DecimalType():
            return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    return _look_up(_AVRO, kind, path, "Avro")


def derive_json(row: spark.StructType, name: str) -> str:
    """Return a JSON Schema for rows. Raises ColumnMismatch if JSON does not support a column's type."""
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "title": name, **_json_object(row, "")})


def _json_object(row: spark.StructType, path: str) -> dict[str, Any]:
    properties = {
        column.name: {"connect.index": at, **_json(column.dataType, join(path, column.name), is_null=column.nullable)}
        for at, column in enumerate(row.fields)
    }
    needed = [column.name for column in row.fields if not column.nullable]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _json(kind: spark.DataType, path: str, *, is_null: bool) -> dict[str, Any]:
    inner = _json_not_null(kind, path)
    return {"oneOf": [{"type": "null"}, inner]} if is_null else inner


def _json_not_null(kind: spark.DataType, path: str) -> dict[str, Any]:
    match kind:
        case spark.StructType():
            return _json_object(kind, path)
        case spark.ArrayType():
            return {"type": "array", "items": _json(kind.elementType, f"{path}[]", is_null=kind.containsNull)}
        case spark.MapType() if isinstance(kind.keyType, _TEXTS):
            value = _json(kind.valueType, f"{path}[]", is_null=kind.valueContainsNull)
            return {"type": "object", "connect.type": "map", "additionalProperties": value}
        case spark.DecimalType():
            parameters = {"scale": str(kind.scale), "connect.decimal.precision": str(kind.precision)}
            return {"type": "number", "title": f"{_CONNECT}Decimal", "connect.parameters": parameters}
    scalar: dict[str, Any] = _look_up(_JSON, kind, path, "JSON")
    return scalar


def derive_protobuf(row: spark.StructType, name: str) -> str:
    """Return a Protocol Buffers schema for rows. Raises ColumnMismatch if a message can't contain a column."""
    imports: set[str] = set()
    lines = _message(row, name, "", "", imports)
    head = ['syntax = "proto3";', "", *(f'import "{file}";' for file in sorted(imports)), ""]
    return "\n".join([*head, *lines]) + "\n"


def _message(row: spark.StructType, name: str, path: str, indent: str, imports: set[str]) -> list[str]:
    lines = [f"{indent}message {name} {{"]
    for number, column in enumerate(row.fields, 1):
        place = join(path, column.name)
        _check_name(place, column.name, "Protocol Buffers")
        inner: list[str] = []

        def type_name(kind: spark.DataType, place: str = place, inner: list[str] = inner, column: Any = column) -> str:
            if isinstance(kind, spark.StructType):
                nested = f"{column.name[:1].upper()}{column.name[1:]}Fields"
                inner.extend(_message(kind, nested, place, f"{indent}  ", imports))
                return nested
            if type(kind) in _PROTO_MESSAGES:
                message, file = _PROTO_MESSAGES[type(kind)]
                imports.add(file)
                return message
            return str(_look_up(_PROTO, kind, place, "Protocol Buffers"))

        field = _proto_field(column, type_name)
        options = _decimal_options(column.dataType)
        if options:
            imports.add(META_FILE)
        lines += [*inner, f"{indent}  {field} {column.name} = {number}{options};"]
    return [*lines, f"{indent}}}"]


def _proto_field(column: spark.StructField, type_name: Callable[[spark.DataType], str]) -> str:
    kind = column.dataType
    if isinstance(kind, spark.ArrayType):
        return f"repeated {type_name(kind.elementType)}"
    if isinstance(kind, spark.MapType):
        return f"map<{type_name(kind.keyType)}, {type_name(kind.valueType)}>"
    is_message = isinstance(kind, spark.StructType) or type(kind) in _PROTO_MESSAGES
    return type_name(kind) if is_message or not column.nullable else f"optional {type_name(kind)}"


def _decimal_options(kind: spark.DataType) -> str:
    """Return the field options that declare the digits of its decimals, in the form that Kafka Connect uses."""
    match kind:
        case spark.ArrayType():
            return _decimal_options(kind.elementType)
        case spark.MapType():
            return _decimal_options(kind.valueType)
        case spark.DecimalType():
            return decimal_option(kind.precision, kind.scale)
    return ""


def _look_up(types: Mapping[type[spark.DataType], Any], kind: spark.DataType, path: str, what: str) -> Any:
    if type(kind) not in types:
        raise ColumnMismatch(
            f"the column {path} is {kind.simpleString().upper()}, which {what} has no type for: CAST it, put an inner "
            "array or map into a struct, or leave the column out"
        )
    return types[type(kind)]


def _check_name(path: str, name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise ColumnMismatch(
            f"the column {path} has a name that {what} does not take: rename it to letters, digits and _ "
            "(withColumnRenamed)"
        )
