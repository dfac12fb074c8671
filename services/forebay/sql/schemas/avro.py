"""Conversion of columns to Avro schemas in the form that ksqlDB registers, and of Avro schemas to columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from forebay.sql.catalog import Named
from forebay.sql.encodings.readers import key_text
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

NAMESPACE = "io.confluent.ksql.avro_schemas"
_PRECISION = 64
_WRITTEN: dict[SqlType, Any] = {
    INT: "int",
    BIGINT: "long",
    DOUBLE: "double",
    BOOLEAN: "boolean",
    STRING: "string",
    BYTES: "bytes",
    DATE: {"type": "int", "connect.version": 1, "connect.name": "org.apache.kafka.connect.data.Date"},
    TIME: {"type": "int", "connect.version": 1, "connect.name": "org.apache.kafka.connect.data.Time"},
    TIMESTAMP: {"type": "long", "connect.version": 1, "connect.name": "org.apache.kafka.connect.data.Timestamp"},
}
_LOGICAL = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}
_READ: dict[str, SqlType] = {
    "int": INT,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "string": STRING,
    "bytes": BYTES,
    "enum": STRING,
    "fixed": BYTES,
}
_TIMES = {name: kind for kind, name in _LOGICAL.items()}
_NAMED = ("record", "enum", "fixed")


def schema_of(columns: tuple[Named, ...], name: str, *, wraps: bool) -> str:
    """Return the schema of rows as text.

    Args:
        columns: The columns.
        name: Full name of the record.
        wraps: Whether a single column is a field of a record.
    """
    if not wraps:
        return json.dumps(_type(columns[0].type, name))
    return json.dumps(_record([(column.name, column.type) for column in columns], name))


def _record(fields: list[tuple[str, SqlType]], name: str) -> dict[str, Any]:
    space, _, simple = name.rpartition(".")
    results: dict[str, Any] = {"type": "record", "name": simple}
    if space:
        results["namespace"] = space
    results["fields"] = [
        {"name": field, "type": ["null", _type(kind, f"{name}_{field}")], "default": None} for field, kind in fields
    ]
    return results


def _type(kind: SqlType, name: str) -> Any:
    match kind:
        case DecimalType(precision, scale):
            return {
                "type": "bytes",
                "scale": scale,
                "precision": precision,
                "connect.version": 1,
                "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "logicalType": "decimal",
            }
        case ArrayType(item):
            return {"type": "array", "items": ["null", _type(item, name)]}
        case MapType(key, value):
            # Kafka Connect writes a map with keys that may be null as a list of entries.
            entry = _record([("key", key), ("value", value)], name)
            return {"type": "array", "items": {**entry, "connect.internal.type": "MapEntry"}}
        case StructType(fields):
            return _record(list(fields), name)
    written = _WRITTEN[kind]
    return {**written, "logicalType": _LOGICAL[kind]} if kind in _LOGICAL else written


def type_of(text: str) -> SqlType | None:
    """Return the SQL type of a schema's values, or None if there is no such type.

    Raises:
        ValueError: The text is not JSON.
        TooManyFields: The types expand to too many fields.
    """
    document = json.loads(text)
    definitions: dict[str, tuple[Mapping[str, Any], str]] = {}
    _define(document, "", definitions)
    return _Reading(definitions).type_of(document, "")


def required_fields(text: str) -> list[str]:
    """Return the names of a record's fields that have no default and do not allow null."""
    schema = json.loads(text)
    fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
    return [field["name"] for field in fields if "default" not in field and not _takes_null(field["type"])]


def _takes_null(kind: Any) -> bool:
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _define(schema: Any, space: str, definitions: dict[str, tuple[Mapping[str, Any], str]]) -> None:
    """Add all types that a schema defines, by full name, with the namespace of their parts.

    A field without a corresponding column type may define a type that other fields use.
    """
    if isinstance(schema, list):
        for branch in schema:
            _define(branch, space, definitions)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if "name" in schema and kind in _NAMED:
        space, full = _full(schema, space)
        definitions[full] = schema, space
    # A type can have any additional attributes, including some with these names.
    inner = {"array": "items", "map": "values"}.get(kind, "type") if isinstance(kind, str) else "type"
    for part in (schema.get(inner), *_types_of_fields(schema)):
        _define(part, space, definitions)


def _types_of_fields(schema: Mapping[str, Any]) -> Iterator[Any]:
    if schema.get("type") == "record":
        for field in schema.get("fields", ()):
            yield field["type"]


class _Reading:
    def __init__(self, definitions: Mapping[str, tuple[Mapping[str, Any], str]]) -> None:
        self._nesting = Nesting()
        self._definitions = definitions

    def type_of(self, schema: Any, space: str) -> SqlType | None:
        if isinstance(schema, list):
            # A union of null and one type is a nullable column. ksqlDB has no type for other unions.
            branches = [item for item in schema if item != "null"]
            return self.type_of(branches[0], space) if len(branches) == 1 else None
        if isinstance(schema, str):
            return _READ.get(schema) or self._look_up(schema) or self._look_up(f"{space}.{schema}")
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.type_of(kind, space)
        if "name" in schema and kind in _NAMED:
            return self._look_up(_full(schema, space)[1])
        if kind in ("array", "map"):
            return self._collection(schema, space)
        return _decimal(schema) or _TIMES.get(schema.get("logicalType", "")) or self.type_of(kind, space)

    def _look_up(self, full: str) -> SqlType | None:
        if full not in self._definitions:
            return None
        schema, space = self._definitions[full]
        if schema["type"] != "record":
            return _decimal(schema) or _READ[schema["type"]]
        fields = schema["fields"]
        read = ((column["name"], self.type_of(column["type"], space)) for column in fields)
        return self._nesting.type_of(full, lambda: self._nesting.struct(read))

    def _collection(self, schema: Mapping[str, Any], space: str) -> SqlType | None:
        if schema["type"] == "map":
            value = self.type_of(schema["values"], space)
            return None if value is None else MapType(STRING, value)
        items = schema["items"]
        item = self.type_of(items, space)
        is_map = isinstance(items, dict) and items.get("connect.internal.type") == "MapEntry"
        if is_map and isinstance(item, StructType):
            value = dict(item.fields).get("value")
            return None if value is None else MapType(STRING, value)
        return None if item is None else ArrayType(item)


def _full(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    given, _, simple = str(schema["name"]).rpartition(".")
    space = given or schema.get("namespace", space)
    return space, f"{space}.{simple}" if space else simple


def _decimal(schema: Mapping[str, Any]) -> SqlType | None:
    if schema.get("logicalType") != "decimal" or schema["type"] not in ("bytes", "fixed"):
        return None
    return DecimalType(int(schema.get("precision", _PRECISION)), int(schema.get("scale", 0)))


Write = Callable[[Any], Any]


def writer_of(schema: Any, kind: SqlType, names: Mapping[str, Any]) -> Write:
    """Return a function that converts a value of an SQL type, in which structs are tuples, for an Avro writer.

    Args:
        schema: The parsed schema.
        kind: The SQL type.
        names: Parsed schemas by full name.
    """
    if isinstance(schema, list):
        inner = next((writer_of(item, kind, names) for item in schema if item != "null"), _same)
        return lambda value: None if value is None else inner(value)
    result = names.get(schema, schema) if isinstance(schema, str) else schema
    if isinstance(result, str):
        return _same
    match kind:
        case StructType(fields):
            types = {column["name"]: column["type"] for column in result["fields"]}
            parts = [(name, writer_of(types[name], part, names)) for name, part in fields]
            # If a field's type does not allow null, omit a null, so that the field's default is written if it has one.
            plain = {name for name, item in types.items() if item != "null" and not isinstance(item, list)}
            return lambda value: {
                name: write(part)
                for (name, write), part in zip(parts, value, strict=True)
                if part is not None or name not in plain
            }
        case MapType(_, item) if result["type"] == "map":
            one = writer_of(result["values"], item, names)
            return lambda value: {key_text(key): one(part) for key, part in value.items()}
        case MapType(key, item):
            entry = writer_of(result["items"], StructType((("key", key), ("value", item))), names)
            shown = key_text if key == STRING else _same
            return lambda value: [entry((shown(item), part)) for item, part in value.items()]
        case ArrayType(item):
            each_item = writer_of(result["items"], item, names)
            return lambda value: [each_item(part) for part in value]
    return _same


def _same(value: Any) -> Any:
    return value
