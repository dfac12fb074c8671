"""Conversion of columns to JSON Schemas in the form that ksqlDB registers, and of JSON Schemas to columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from forebay.sql.catalog import Named
from forebay.sql.encodings.readers import ITEM, VALUE, Path
from forebay.sql.schemas.nesting import Nesting
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

_CONNECT = "org.apache.kafka.connect.data."
_WRITTEN: dict[SqlType, dict[str, Any]] = {
    INT: {"type": "integer", "connect.type": "int32"},
    BIGINT: {"type": "integer", "connect.type": "int64"},
    DOUBLE: {"type": "number", "connect.type": "float64"},
    BOOLEAN: {"type": "boolean"},
    STRING: {"type": "string"},
    BYTES: {"type": "string", "connect.type": "bytes"},
    DATE: {"type": "integer", "title": f"{_CONNECT}Date", "connect.type": "int32"},
    TIME: {"type": "integer", "title": f"{_CONNECT}Time", "connect.type": "int32"},
    TIMESTAMP: {"type": "integer", "title": f"{_CONNECT}Timestamp", "connect.type": "int64"},
}
_TITLES: dict[str, SqlType] = {
    f"{_CONNECT}{name}": kind for name, kind in (("Date", DATE), ("Time", TIME), ("Timestamp", TIMESTAMP))
}
_SHORT = ("int8", "int16", "int32")


def schema_of(columns: tuple[Named, ...], *, wraps: bool) -> str:
    """Return the schema of rows as text. A single column that is not wrapped may be null."""
    if not wraps:
        return json.dumps({"oneOf": [{"type": "null"}, _type(columns[0].type)]})
    return json.dumps(_object([(column.name, column.type) for column in columns]))


def _object(fields: list[tuple[str, SqlType]]) -> dict[str, Any]:
    properties = {
        name: {"connect.index": at, "oneOf": [{"type": "null"}, _type(kind)]} for at, (name, kind) in enumerate(fields)
    }
    return {"type": "object", "properties": properties}


def _type(kind: SqlType) -> dict[str, Any]:
    match kind:
        case DecimalType(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            title = {"title": f"{_CONNECT}Decimal", "connect.version": 1, "connect.type": "bytes"}
            return {"type": "number", **title, "connect.parameters": parameters}
        case ArrayType(item):
            return {"type": "array", "items": {"oneOf": [{"type": "null"}, _type(item)]}}
        case MapType(_, value):
            inner = {"oneOf": [{"type": "null"}, _type(value)]}
            return {"type": "object", "connect.type": "map", "additionalProperties": inner}
        case StructType(fields):
            return _object(list(fields))
    return _WRITTEN[kind]


def entry_maps(text: str, columns: tuple[Named, ...], *, wraps: bool) -> frozenset[Path]:
    """Return the paths of maps that a schema declares as lists of entries, as ksqlDB does. Raises ValueError.

    Args:
        text: The schema.
        columns: Columns with the spelling of the schema.
        wraps: Whether a single column is a field of an object.
    """
    document = json.loads(text)
    kind: SqlType = StructType(tuple((column.name, column.type) for column in columns)) if wraps else columns[0].type
    return frozenset(_entry_maps(document, document, kind, ()))


def _entry_maps(schema: Any, root: Mapping[str, Any], kind: SqlType, path: Path, depth: int = 0) -> Iterator[Path]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    inner = _follow(schema, root)
    if inner is not schema:
        yield from _entry_maps(inner, root, kind, path, depth + 1)
        return
    match kind:
        case ArrayType(item):
            yield from _entry_maps(schema.get("items"), root, item, (*path, ITEM), depth + 1)
        case MapType(_, value) if _kind(schema) == "array":
            yield path
            entry = StructType(((VALUE, value),))
            yield from _entry_maps(schema.get("items"), root, entry, path, depth + 1)
        case MapType(_, value):
            yield from _entry_maps(schema.get("additionalProperties"), root, value, (*path, VALUE), depth + 1)
        case StructType(fields):
            properties = schema.get("properties", {})
            for name, part in fields:
                yield from _entry_maps(properties.get(name), root, part, (*path, name), depth + 1)


def type_of(text: str) -> SqlType | None:
    """Return the SQL type of values that fit a schema, or None if there is no such type.

    Raises:
        ValueError: The text is not JSON.
        TooManyFields: The types expand to too many fields.
    """
    document, nesting = json.loads(text), Nesting()
    return nesting.type_of("#", lambda: _sql(document, document, nesting))


def _sql(schema: Any, root: Mapping[str, Any], nesting: Nesting) -> SqlType | None:
    if not isinstance(schema, dict):
        return None
    if "$ref" in schema:
        name = str(schema["$ref"])
        return nesting.type_of(name, lambda: _sql(_resolve_reference(name, root), root, nesting))
    inner = _follow(schema, root)
    if inner is not schema:
        return _sql(inner, root, nesting)
    connect_type = schema.get("connect.type", "")
    if schema.get("title") == f"{_CONNECT}Decimal":
        given = schema.get("connect.parameters", {})
        return DecimalType(int(given.get("connect.decimal.precision", 64)), int(given.get("scale", 0)))
    match _kind(schema):
        case "integer" | "number" if schema.get("title") in _TITLES:
            return _TITLES[schema["title"]]
        case "integer":
            return INT if connect_type in _SHORT else BIGINT
        case "number":
            return {**dict.fromkeys(_SHORT, INT), "int64": BIGINT}.get(connect_type, DOUBLE)
        case "boolean":
            return BOOLEAN
        case "string":
            return BYTES if connect_type == "bytes" else STRING
        case "array":
            return _of_array(_sql(schema.get("items"), root, nesting), connect_type)
        case "object":
            return _of_object(schema, root, connect_type, nesting)
    return STRING if "enum" in schema else None


_DEEPEST = 50


def _follow(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return the target of a reference or of a choice with null, or None without a target. Return others unchanged."""
    if "$ref" in schema:
        return _resolve_reference(str(schema["$ref"]), root)
    for word in ("oneOf", "anyOf"):
        if word in schema:
            branches = [item for item in schema[word] if item.get("type") != "null"]
            return branches[0] if len(branches) == 1 else None
    return schema


def _kind(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if not isinstance(kind, list):
        return kind
    left = [item for item in kind if item != "null"]
    return left[0] if len(left) == 1 else None


def _of_array(item: SqlType | None, connect_type: str) -> SqlType | None:
    if connect_type == "map" and isinstance(item, StructType):
        fields = dict(item.fields)
        if "value" not in fields:
            return None
        # A list of entries is a map whose keys may be null, as all of ksqlDB's. Keys of other types would be read as
        # they are, and `m['5']` would not find the key 5.
        if {*fields} == {"key", "value"} and fields["key"] == STRING:
            return MapType(STRING, fields["value"])
    return None if item is None else ArrayType(item)


def _of_object(
    schema: Mapping[str, Any], root: Mapping[str, Any], connect_type: str, nesting: Nesting
) -> SqlType | None:
    more = schema.get("additionalProperties")
    if connect_type == "map" or (isinstance(more, dict) and "properties" not in schema):
        value = _sql(more, root, nesting)
        return None if value is None else MapType(STRING, value)
    properties = sorted(schema.get("properties", {}).items(), key=lambda each: each[1].get("connect.index", 0))
    return nesting.struct((name, _sql(item, root, nesting)) for name, item in properties)


def _resolve_reference(name: str, root: Mapping[str, Any]) -> Any:
    result: Any = root
    for part in name.removeprefix("#").strip("/").split("/"):
        result = result.get(part) if isinstance(result, dict) else None
    return result
