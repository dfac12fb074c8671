"""Encoding of a DataFrame's rows as JSON by a registered JSON Schema."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import msgspec
from jsonschema.validators import validator_for
from pyspark.sql import types as spark

from forebay.spark.sink_values import (
    ColumnMismatch,
    Convert,
    ValueMismatch,
    days,
    field_names,
    in_milliseconds,
    join,
    keep_null,
    microseconds,
    microseconds_of_day,
    misfit,
    missing_field,
    refuse_null,
    same,
)

_CONNECT = "org.apache.kafka.connect.data."
_INTEGERS = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType)
_TEXTS = (spark.StringType, spark.CharType, spark.VarcharType)
_DEEPEST = 50
_PLAIN: Mapping[type[spark.DataType] | tuple[type[spark.DataType], ...], tuple[str, ...]] = {
    spark.BooleanType: ("boolean", ""),
    _INTEGERS: ("integer", "number", ""),
    spark.DecimalType: ("number", ""),
    _TEXTS: ("string", ""),
}
_CONNECT_TIMES: Mapping[str, tuple[type[spark.DataType], Callable[[str], Convert]]] = {
    f"{_CONNECT}Date": (spark.DateType, lambda _: days),
    f"{_CONNECT}Time": (spark.TimeType, lambda path: in_milliseconds(microseconds_of_day, path)),
    f"{_CONNECT}Timestamp": (spark.TimestampType, lambda path: in_milliseconds(microseconds, path)),
}
_ISO: Mapping[type[spark.DataType], str] = {
    spark.DateType: "date",
    spark.TimeType: "time",
    spark.TimestampNTZType: "local-date-time",
}
_STRUCTURE = frozenset(
    (
        *("$id", "$schema", "$defs", "definitions", "$ref", "type", "title", "description", "default", "examples"),
        *("properties", "required", "items", "format", "additionalProperties", "oneOf", "anyOf", "contentEncoding"),
    )
)
"""Keywords that can be checked against the columns' types. If a schema has other keywords, each record is validated."""

_encode = msgspec.json.Encoder(decimal_format="number").encode


def json_encoder(text: str, row: spark.StructType) -> Callable[[Mapping[str, Any]], bytes]:
    """Return a function that encodes rows, without framing.

    Args:
        text: The schema. If its type is not object, rows must have one column.
        row: The columns.

    Raises:
        ColumnMismatch: The columns don't fit. The message says what to change.
        ValueError: The text is not JSON.
    """
    document = json.loads(text)
    plan = _Plan(document)
    convert, name = plan.convert(row)
    is_proven = _is_structural(document) and not plan.has_constants
    validator = None if is_proven else validator_for(document, jsonschema.Draft202012Validator)(document)

    def encode(values: Mapping[str, Any]) -> bytes:
        value = convert(values if name is None else values[name])
        error = None if validator is None else next(iter(validator.iter_errors(value)), None)
        if error is not None:
            raise ValueMismatch(f"{error.json_path} does not fit the JSON Schema: {error.message[:200]}")
        return _encode(value)

    return encode


class _Plan:
    def __init__(self, document: Any) -> None:
        self._root = document
        self.has_constants = False
        """Whether records contain values that may not fit the schema although the columns' types fit."""

    def convert(self, row: spark.StructType) -> tuple[Convert, str | None]:
        """Return the conversion of a row, and the name of the only column if the schema's type is not object."""
        schema = self._resolve(self._root)
        kinds = _kinds(schema)
        if not kinds or "object" in kinds:
            return self._any(row, schema, ""), None
        if len(row.fields) != 1:
            raise ColumnMismatch(
                f"the schema is of {' | '.join(kinds)}, which takes one column, not {', '.join(row.fieldNames())}: "
                "select one"
            )
        column = row.fields[0]
        return self._any(column.dataType, schema, column.name), column.name

    def _resolve(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return {}
        if "$ref" not in schema or depth > _DEEPEST:
            return schema
        target: Any = self._root
        for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target.get(part) if isinstance(target, dict) and part else target
        return self._resolve(target, depth + 1)

    def _any(self, kind: spark.DataType, schema: Any, path: str) -> Convert:
        """Return the conversion of a value, which refuses null unless the schema allows it."""
        convert = self._not_null(kind, schema, path)
        return keep_null(convert) if self._takes_null(schema) else refuse_null(convert, path)

    def _takes_null(self, schema: Any) -> bool:
        schema = self._resolve(schema)
        branches = schema.get("oneOf") or schema.get("anyOf")
        if branches:
            return any(self._takes_null(branch) for branch in branches)
        kinds = _kinds(schema)
        return not kinds or "null" in kinds

    def _not_null(self, kind: spark.DataType, schema: Any, path: str) -> Convert:
        schema = self._resolve(schema)
        if isinstance(kind, spark.NullType):
            return same
        refusals: list[ColumnMismatch] = []
        for branch in schema.get("oneOf") or schema.get("anyOf") or _by_kind(schema):
            resolved = self._resolve(branch)
            if _kinds(resolved) == ["null"]:
                continue
            try:
                if resolved is not schema and ("oneOf" in resolved or "anyOf" in resolved):
                    return self._not_null(kind, resolved, path)
                return self._single(kind, resolved, path)
            except ColumnMismatch as refusal:
                refusals.append(refusal)
        raise refusals[0] if refusals else misfit(path, kind, "null", "")

    def _single(self, kind: spark.DataType, schema: Mapping[str, Any], path: str) -> Convert:
        target = next(iter(_kinds(schema)), "object" if "properties" in schema else "")
        if isinstance(kind, spark.StructType) and target in ("object", ""):
            return self._object(kind, schema, path)
        if isinstance(kind, spark.MapType) and target in ("object", "") and isinstance(kind.keyType, _TEXTS):
            item = self._any(kind.valueType, schema.get("additionalProperties"), f"{path}[]")
            return lambda value: {key: item(part) for key, part in value}
        if isinstance(kind, spark.ArrayType) and target in ("array", ""):
            items = self._any(kind.elementType, schema.get("items"), f"{path}[]")
            return lambda value: [items(part) for part in value]
        return _scalar(kind, target, schema, path)

    def _object(self, row: spark.StructType, schema: Mapping[str, Any], path: str) -> Convert:
        properties = dict(schema.get("properties", {}))
        more = schema.get("additionalProperties", None if properties else True)
        if more is True or isinstance(more, dict):
            names = {name.casefold() for name in properties}
            properties |= {name: more for name in row.fieldNames() if name.casefold() not in names}
        columns = field_names(row, properties, f"the JSON Schema {schema.get('title', '')}".rstrip(), path)
        needed = frozenset(schema.get("required", ()))
        constants: dict[str, Any] = {}
        for name in needed - columns.keys():
            part = self._resolve(properties.get(name))
            if "default" in part:
                constants[name] = part["default"]
                continue
            raise missing_field(join(path, name), " | ".join(_kinds(part)) or "any", "")
        parts, left_out = [], set()
        for name, column in columns.items():
            place = join(path, column.name)
            if name in needed or self._takes_null(properties[name]):
                parts.append((name, column.name, self._any(column.dataType, properties[name], place)))
            else:
                left_out.add(name)
                parts.append((name, column.name, self._not_null(column.dataType, properties[name], place)))
        self.has_constants |= bool(constants)
        return lambda value: (
            constants
            | {
                name: convert(value[column])
                for name, column, convert in parts
                if value[column] is not None or name not in left_out
            }
        )


def _scalar(kind: spark.DataType, target: str, schema: Mapping[str, Any], path: str) -> Convert:
    """Return the conversion of a scalar to a JSON type, or to any type if `target` is "". Raises ColumnMismatch."""
    title, form = schema.get("title", ""), schema.get("format", "")
    is_any, is_number = not target, target in ("integer", "number")
    is_base64 = is_any or schema.get("connect.type") == "bytes" or schema.get("contentEncoding") == "base64"
    if is_number and title in _CONNECT_TIMES:
        wanted, make = _CONNECT_TIMES[title]
        if isinstance(kind, wanted):
            return make(path)
    if any(isinstance(kind, kinds) and target in targets for kinds, targets in _PLAIN.items()):
        return same
    match kind:
        case spark.DecimalType(scale=0) if is_any or is_number:
            return same
        case spark.FloatType() | spark.DoubleType() if target in ("number", ""):
            return _finite(path)
        case spark.BinaryType() if target in ("string", "") and is_base64:
            return lambda value: base64.b64encode(value).decode()
        case spark.TimestampType() if is_any or (target == "string" and form == "date-time"):
            return _utc_text
    for wanted, name in _ISO.items():
        if isinstance(kind, wanted) and (is_any or (target == "string" and form == name)):
            return lambda value: value.isoformat()
    ddl = {"boolean": "BOOLEAN", "integer": "BIGINT", "number": "DOUBLE", "string": "STRING"}.get(target, "")
    raise misfit(path, kind, f"{target} ({title or form})" if title or form else target or "any", ddl)


def _utc_text(value: Any) -> str:
    """Return a timestamp in the format of RFC 3339, in UTC, with all digits of Spark's timestamps."""
    seconds, micros = divmod(microseconds(value), 1_000_000)
    day, second = divmod(seconds, 86_400)
    date = type(value).fromordinal(day + 719_163).date()
    digits = f".{micros:06d}" if micros else ""
    return f"{date.isoformat()}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}{digits}Z"


def _finite(path: str) -> Convert:
    def check(value: float) -> float:
        if not math.isfinite(value):
            raise ValueMismatch(f"{path} is {value}, which JSON can't represent: replace it with null or a text")
        return value

    return check


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else [str(name) for name in kind]


def _by_kind(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return one schema for each type that a schema allows, without null."""
    kinds = _kinds(schema)
    return [schema] if len(kinds) < 2 else [{**schema, "type": kind} for kind in kinds if kind != "null"]


def _is_structural(schema: Any) -> bool:
    """Return whether a schema only declares types, so that rows fit if the types of the columns do."""
    if not isinstance(schema, dict):
        return True
    if not all(word in _STRUCTURE or word.startswith("connect.") for word in schema):
        return False
    branches = schema.get("oneOf") or schema.get("anyOf") or []
    if len([branch for branch in branches if branch.get("type") != "null"]) > 1:
        return False
    below = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    below += [*schema.get("definitions", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return all(_is_structural(part) for part in (*below, *branches))
