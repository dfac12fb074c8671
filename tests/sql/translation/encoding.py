"""Conversion of a case's JSON to the bytes of a topic, and to rows that are compared with results."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import fastavro
import msgspec
from google.protobuf import json_format

from forebay.builder.keys import Windowed
from forebay.formats import Format, no_contracts
from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of, path_bytes
from forebay.serde.references import join_files
from forebay.serde.schema import Schema
from forebay.serde.subjects import Subjects
from forebay.sql.catalog import Named, Source
from forebay.sql.encodings.readers import reader
from forebay.sql.schemas.protobuf import DECIMAL
from forebay.sql.sources import formats_of
from forebay.sql.types import MapType, StructType
from forebay.time.base import Window
from tests.sql.translation.cases import Json

_JSON = msgspec.json.Encoder(decimal_format="number").encode
_KIND = {"AVRO": "AVRO", "JSON": "JSON", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}
"""Types of schemas by format. A topic with the format JSON and a schema has the format JSON_SR."""


class Encoding:
    """Encoding of the keys and values of a topic.

    Args:
        source: A stream or table over the topic.
        about: The case's information on the topic.
    """

    def __init__(self, source: Source, about: Json, registry: Subjects) -> None:
        key, value = formats_of(source)
        self._source = source
        encoding = source.encoding
        subjects = [f"{source.topic}-{part}" for part in ("key", "value")]
        self._key = _part(about, encoding.key, key, source.keys, registry, subjects[0], source.key_form.name)
        self._value = _part(about, encoding.value, value, source.values, registry, subjects[1], source.value_form.name)

    def key(self, record: Json) -> bytes | None:
        """Return the bytes of a record's key."""
        window = record.get("window")
        return None if record.get("key") is None else self._key(record["key"], window)

    def value(self, record: Json) -> bytes | None:
        """Return the bytes of a record's value."""
        return None if record.get("value") is None else self._value(record["value"], None)


def _part(
    about: Json, form: str, rows: Format[Any], columns: Sequence[Named], registry: Subjects, subject: str, name: str
) -> Callable[[Any, Json | None], bytes]:
    part = subject.rpartition("-")[2]
    form = about.get(f"{part}Format") or about.get("format") or form
    text, kind = schema_text({**about, f"{part}Format": form}, part)
    if text:
        schema_id = registry.register(subject, Schema(text), kind).schema_id
        encode = _avro(text) if kind == "AVRO" else _protobuf(text, name) if kind == "PROTOBUF" else _JSON
        return lambda value, _: header(schema_id) + encode(value)
    if form == "DELIMITED":
        return lambda value, _: str(value).encode()
    codec = rows.codec(no_contracts)
    if form == "JSON" and part == "value":
        return lambda value, _: _JSON(value)

    def encode_row(value: Any, window: Json | None) -> bytes:
        if not columns:
            return str(value).encode()
        row: Any = row_of(columns, value, only_known=True)
        data: bytes = codec.encode(row if window is None else Windowed(row, Window(window["start"], window["end"])))
        return data

    return encode_row


def schema_text(about: Json, part: str) -> tuple[str, str]:
    """Return the schema of a topic's keys or values and its type, or two empty texts if the case has no schema."""
    schema, form = about.get(f"{part}Schema"), about.get(f"{part}Format") or about.get("format")
    if form is None and isinstance(schema, dict):
        form = "AVRO"  # only Avro schemas occur in cases without a format
    if schema is None or form not in _KIND:
        return "", ""
    if not isinstance(schema, str) or form != "PROTOBUF":
        return json.dumps(schema, default=float), _KIND[form]
    references = about.get(f"{part}SchemaReferences", [])
    return join_files(schema, {reference["name"]: reference["schema"] for reference in references}), _KIND[form]


def row_of(columns: Sequence[Named], value: Any, *, only_known: bool = False) -> Any:
    """Return the row of a JSON value. Raises DecodeError or TypeError if it does not fit the columns.

    Args:
        only_known: Whether fields without a column are ignored.
    """
    if value is None:
        return None
    is_alone = len(columns) == 1 and isinstance(columns[0].type, MapType | StructType)
    if not isinstance(value, dict) or (is_alone and columns[0].name.upper() not in map(str.upper, value)):
        if len(columns) != 1:
            raise TypeError(f"{value!r} is not a row of {len(columns)} columns")
        return (reader(columns[0].type)(value),)
    fields = {name.upper(): part for name, part in value.items()}
    known = {column.name.upper() for column in columns}
    unknown = [name for name, part in fields.items() if part is not None and name not in known]
    if unknown and not only_known:
        raise TypeError(f"{', '.join(sorted(unknown))}: there are only {', '.join(map(str, columns))}")
    return tuple(reader(column.type)(fields.get(column.name.upper())) for column in columns)


def _avro(text: str) -> Callable[[Any], bytes]:
    names: dict[str, Any] = {}
    parsed = fastavro.parse_schema(json.loads(text), names)

    def encode(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, _to_avro(parsed, value, names))
        return out.getvalue()

    return encode


def _to_avro(schema: Any, value: Any, names: dict[str, Any]) -> Any:
    """Convert a JSON value to a value of an Avro schema."""
    if isinstance(schema, list):
        branch = next((part for part in schema if part != "null"), "null")
        return None if value is None else _to_avro(branch, value, names)
    definition = names.get(schema, schema) if isinstance(schema, str) else schema
    kind = definition if isinstance(definition, str) else definition["type"]
    if isinstance(kind, dict | list):
        return _to_avro(kind, value, names)
    match kind:
        case "record":
            fields = {name.upper(): part for name, part in value.items()}
            return {
                field["name"]: _to_avro(field["type"], fields[field["name"].upper()], names)
                for field in definition["fields"]
                if field["name"].upper() in fields
            }
        case "array" if isinstance(value, dict):
            pairs = [{"key": name, "value": part} for name, part in value.items()]
            return [_to_avro(definition["items"], pair, names) for pair in pairs]
        case "array":
            return [_to_avro(definition["items"], item, names) for item in value]
        case "map":
            return {name: _to_avro(definition["values"], part, names) for name, part in value.items()}
        case "bytes" | "fixed":
            is_decimal = not isinstance(definition, str) and definition.get("logicalType") == "decimal"
            return Decimal(str(value)) if is_decimal else base64.b64decode(value)
        case "float" | "double":
            return float(value)
        case "string":
            return value if isinstance(value, str) else _JSON(value).decode()
    return value


def _decimal_message(value: Decimal) -> Json:
    """Return the JSON form of a decimal's message: its digits as an integer, and the number of decimal places."""
    scale = max(0, -int(value.as_tuple().exponent))
    digits = int(value.scaleb(scale))
    data = digits.to_bytes((digits.bit_length() + 8) // 8, "big", signed=True)
    return {"value": base64.b64encode(data).decode(), "scale": scale}


def _protobuf(text: str, name: str) -> Callable[[Any], bytes]:
    message = message_of(text, name)
    message_class = class_of(message)
    names = {field.name.upper(): field.name for field in message.fields}

    def encode(value: Any) -> bytes:
        fields = value if isinstance(value, dict) else {message.fields[0].name: value}
        known = {names.get(name.upper(), name): part for name, part in fields.items()}
        for field in message.fields:
            if field.message_type is not None and field.message_type.full_name == DECIMAL and known.get(field.name):
                known[field.name] = _decimal_message(Decimal(str(known[field.name])))
        parsed = json_format.ParseDict(json.loads(_JSON(known)), message_class(), ignore_unknown_fields=True)
        data: bytes = parsed.SerializeToString(deterministic=True)
        return path_bytes(message) + data

    return encode
