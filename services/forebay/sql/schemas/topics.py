"""Formats of topics whose records contain schema ids."""

from __future__ import annotations

from functools import lru_cache

from forebay.codec import Codec
from forebay.formats import Format
from forebay.formats.identities import Identity
from forebay.serde.proto_identity import identity_of
from forebay.serde.proto_messages import message_of
from forebay.sql.catalog import FRAMED, Encoding, Form, Named, Source
from forebay.sql.encodings.rows import (
    as_equal_keys,
    identity_of_values,
    json_schema_rows,
    key_format,
    value_format,
)
from forebay.sql.encodings.wires import Wire
from forebay.sql.schemas import avro, json_schema, protobuf
from forebay.sql.schemas.codecs import (
    AVRO,
    JSON_SCHEMA,
    PROTOBUF,
    AvroRows,
    Door,
    JsonSchemaRows,
    ProtobufRows,
)
from forebay.sql.types import SqlType


def key_of(source: Source) -> Format[tuple[object, ...]]:
    """Return the format of a topic's keys. Raises TypeError if it does not support them."""
    if source.encoding.key not in FRAMED or not source.keys:
        return key_format(source.keys, source.encoding.key_kind)
    return _key(source.keys, source.encoding, source.key_form, source.topic, source.name)


def value_of(source: Source) -> Format[tuple[object, ...]]:
    """Return the format of a topic's values. Raises TypeError if it does not support them."""
    if source.encoding.value not in FRAMED or not source.values:
        return value_format(source.values, source.encoding)
    return _value(source.values, source.encoding, source.value_form, source.topic)


@lru_cache(4096)
def _key(
    columns: tuple[Named, ...], encoding: Encoding, form: Form, topic: str, name: str
) -> Format[tuple[object, ...]]:
    kind = encoding.key
    inner = key_format(columns, kind)
    camel = "".join(part.capitalize() for part in name.split("_"))
    wraps = kind.startswith("PROTOBUF") or len(columns) != 1
    framed = frame_schema(kind, columns, form, f"{topic}-key", f"{avro.NAMESPACE}.{camel}Key", wraps=wraps)
    codec = as_equal_keys(framed, columns)
    wire = Wire(kind, columns, "" if wraps else "bare")
    name = f"{inner.name} of {topic}"
    return Format(
        name,
        tuple,
        lambda _: codec,
        inner.row,
        inner.of_row,
        wire=wire,
        takes=wire.takes,
        identify=inner.identify,
    )


@lru_cache(4096)
def _value(columns: tuple[Named, ...], encoding: Encoding, form: Form, topic: str) -> Format[tuple[object, ...]]:
    wraps = encoding.wraps is not False or len(columns) != 1 or encoding.value.startswith("PROTOBUF")
    name = f"{avro.NAMESPACE}.KsqlDataSourceSchema"
    codec = frame_schema(encoding.value, columns, form, f"{topic}-value", name, wraps=wraps)
    wire = Wire(encoding.value, columns, "" if wraps else "bare")
    shown = f"{encoding.value} {', '.join(map(str, columns))} of {topic}"

    def identify() -> Identity:
        if encoding.value != "PROTOBUF_NOSR":
            return identity_of_values(columns, encoding)
        # Without a schema id, fields are found by the numbers that the declared columns give them.
        text = form.text or protobuf.schema_of(form.columns or columns, form.nullable)
        return identity_of(message_of(text, form.name if form.text else ""), "PROTOBUF_NOSR")

    return Format(shown, tuple, lambda _: codec, wire=wire, takes=wire.takes, identify=identify)


def frame_schema(
    kind: str, columns: tuple[Named, ...], form: Form, subject: str, name: str, *, wraps: bool
) -> Codec[tuple[object, ...]]:
    """Return the codec of rows with a schema, which is derived from the columns if it is not specified."""
    used = form.columns or columns
    if kind == "AVRO":
        text = form.text or avro.schema_of(used, form.name or name, wraps=wraps)
        return AvroRows(used, Door(subject, text, AVRO, form.schema_id), wraps=wraps)
    if kind == "JSON_SR":
        text = form.text or json_schema.schema_of(used, wraps=wraps)
        entry_maps = json_schema.entry_maps(text, used, wraps=wraps)
        codec = json_schema_rows(used, wraps=wraps, entry_maps=entry_maps)
        return JsonSchemaRows(codec, Door(subject, text, JSON_SCHEMA, form.schema_id))
    text = form.text or protobuf.schema_of(used, form.nullable)
    door = None if kind == "PROTOBUF_NOSR" else Door(subject, text, PROTOBUF, form.schema_id)
    return ProtobufRows(used, text, form.name if form.text else "", door, is_chosen=bool(form.text))


def type_of(kind: str, text: str, name: str) -> SqlType | None:
    """Return the SQL type of a schema's values, or None if there is no such type. Raises ValueError, KeyError."""
    if kind == "AVRO":
        return avro.type_of(text)
    if kind == "JSON_SR":
        return json_schema.type_of(text)
    return protobuf.type_of(message_of(text, name))
