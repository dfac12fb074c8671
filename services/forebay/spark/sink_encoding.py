"""Which columns are written with which schema: chosen on the driver, used by the tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import types as spark

from forebay.codec import EncodeError
from forebay.formats import BOOLEAN, BYTES, DOUBLE, FLOAT, INT, LONG, TEXT, Format, no_contracts
from forebay.serde.framing import header
from forebay.serde.proto_messages import message_of
from forebay.serde.proto_text import WrongProto
from forebay.serde.schema import RegisteredSchema, Schema
from forebay.serde.subjects import AVRO, JSON_SCHEMA, PROTOBUF
from forebay.spark.sink_avro import avro_encoder
from forebay.spark.sink_derived import derive_avro, derive_json, derive_protobuf
from forebay.spark.sink_json import json_encoder
from forebay.spark.sink_protobuf import protobuf_encoder
from forebay.spark.sink_values import ColumnMismatch, ValueMismatch

Encode = Callable[[Mapping[str, Any]], bytes | None]

AUTO = "auto"
KINDS: Mapping[str, str] = {"avro": AVRO, "json_schema": JSON_SCHEMA, "protobuf": PROTOBUF}
"""Formats with a schema, and what a registry calls them."""

PRIMITIVES: Mapping[str, tuple[Format[Any], tuple[type[spark.DataType], ...]]] = {
    "string": (TEXT, (spark.StringType, spark.CharType, spark.VarcharType)),
    "bytes": (BYTES, (spark.BinaryType,)),
    "int": (INT, (spark.IntegerType, spark.ShortType, spark.ByteType)),
    "long": (LONG, (spark.LongType, spark.IntegerType, spark.ShortType, spark.ByteType)),
    "float": (FLOAT, (spark.FloatType,)),
    "double": (DOUBLE, (spark.DoubleType, spark.FloatType)),
    "boolean": (BOOLEAN, (spark.BooleanType,)),
}
"""Formats of one column, as Kafka's own serializers write them, with the types that they take, the widest first."""


class Registry(Protocol):
    """What the sink needs of a schema registry."""

    def newest(self, subject: str) -> RegisteredSchema | None: ...
    def schema(self, schema_id: int) -> Schema: ...
    def kind(self, schema_id: int) -> str: ...
    def register(self, subject: str, schema: Schema, kind: str = AVRO) -> RegisteredSchema: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What the options say of keys or values.

    Args:
        format: one of KINDS or PRIMITIVES, or AUTO: the kind of the subject's schema.
        schema_id: 0 for the subject's newest schema.
        registers: whether a schema of the columns is registered if the subject has none.
    """

    part: str
    topic: str
    format: str = AUTO
    subject: str = ""
    schema_id: int = 0
    message: str = ""
    registers: bool = False


@dataclass(frozen=True, slots=True)
class Encoding:
    """How some columns of a row are written.

    Args:
        text: the schema; "" for a primitive.
    """

    format: str
    row: spark.StructType
    text: str = ""
    schema_id: int = 0
    message: str = ""

    def encoder(self) -> Encode:
        """Return what encodes rows. Raises ColumnMismatch, and for each row ValueMismatch."""
        if self.format in PRIMITIVES:
            return self._primitive()
        head = header(self.schema_id)
        if self.format == "avro":
            encode = avro_encoder(self.text, self.row)
        elif self.format == "json_schema":
            encode = json_encoder(self.text, self.row)
        else:
            encode = protobuf_encoder(self.text, self.row, self.message)
        return lambda values: head + encode(values)

    def _primitive(self) -> Encode:
        kind, types = PRIMITIVES[self.format]
        names = self.row.fieldNames()
        if len(names) != 1 or not isinstance(self.row.fields[0].dataType, types):
            wanted = types[0]().simpleString().upper()
            raise ColumnMismatch(
                f"the format {self.format} takes one column of type {wanted}, not {self.row.simpleString()}: select "
                "one, CAST it, or use a format with a schema (avro, json_schema, protobuf)"
            )
        name, encode = names[0], kind.codec(no_contracts).encode

        def encode_column(values: Mapping[str, Any]) -> bytes | None:
            value = values[name]
            try:
                return None if value is None else encode(value)
            except EncodeError as error:
                raise ValueMismatch(f"{name}: {error}") from error

        return encode_column


def choose_encoding(request: Request, row: spark.StructType, spare: spark.StructType, registry: Registry) -> Encoding:
    """Return how columns are written, checked against their schema.

    Args:
        row: the columns to write.
        spare: columns that are written only if the schema has fields for them: they are in the record elsewhere.

    Raises:
        ColumnMismatch: says what to write. RegistryUnavailable, RegistryRefused.
    """
    if request.format in PRIMITIVES:
        encoding = Encoding(request.format, row)
        encoding.encoder()
        return encoding
    subject = request.subject or f"{request.topic}-{request.part}"
    if request.schema_id:
        registered: RegisteredSchema | None = RegisteredSchema(request.schema_id, registry.schema(request.schema_id))
    else:
        registered = registry.newest(subject)
    if registered is None:
        registered, name = _register(request, subject, row, registry)
    else:
        name = _name_of(registry.kind(registered.schema_id), subject)
        if request.format not in (AUTO, name):
            raise ColumnMismatch(
                f"the schema of {subject} is of the format {name}, not {request.format}: set {request.part}Format to "
                f"{name}, or leave the option out"
            )
    text = registered.schema.text
    fields = _fields(name, text, request.message)
    extra = [column for column in spare.fields if column.name.casefold() in fields]
    encoding = Encoding(name, spark.StructType(row.fields + extra), text, registered.schema_id, request.message)
    try:
        encoding.encoder()
    except ColumnMismatch as mismatch:
        raise ColumnMismatch(f"{subject} (schema id {registered.schema_id}): {mismatch}") from mismatch
    return encoding


def _register(
    request: Request, subject: str, row: spark.StructType, registry: Registry
) -> tuple[RegisteredSchema, str]:
    if not request.registers:
        raise ColumnMismatch(
            f"the registry has no schema for the subject {subject}: register one; or have the sink derive it from the "
            f'columns, with option("registerSchema", "true") and option("{request.part}Format", "avro"); or write '
            f'raw values, with option("{request.part}Format", "string") or "bytes"'
        )
    name = "avro" if request.format == AUTO else request.format
    derive = {"avro": derive_avro, "json_schema": derive_json, "protobuf": derive_protobuf}[name]
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in request.topic)
    record = f"{'' if letters[:1].isalpha() else '_'}{letters}_{request.part}"
    text = derive(row, request.message or record)
    return registry.register(subject, Schema(text), KINDS[name]), name


def _name_of(kind: str, subject: str) -> str:
    for name, registry_name in KINDS.items():
        if registry_name == kind:
            return name
    raise ColumnMismatch(
        f"the schema of {subject} has the type {kind}, which the sink can't write: use {', '.join(KINDS)}"
    )


def _fields(name: str, text: str, message: str) -> frozenset[str]:
    """Return the names of a schema's outermost fields, in lower case."""
    if name == "protobuf":
        try:
            return frozenset(field.name.casefold() for field in message_of(text, message).fields)
        except WrongProto as error:
            raise ColumnMismatch(f"the schema can't be used: {error}") from error
    document = json.loads(text)
    if not isinstance(document, dict):
        return frozenset()
    fields = [field["name"] for field in document.get("fields", ())] if name == "avro" else document.get("properties")
    return frozenset(field.casefold() for field in fields or ())
