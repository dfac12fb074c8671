"""The encoding of columns by a schema. The driver chooses it, and the tasks use it."""

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
"""Formats with a schema, with the names that a registry uses for them."""

PRIMITIVES: Mapping[str, tuple[Format[Any], tuple[type[spark.DataType], ...]]] = {
    "string": (TEXT, (spark.StringType, spark.CharType, spark.VarcharType)),
    "bytes": (BYTES, (spark.BinaryType,)),
    "int": (INT, (spark.IntegerType, spark.ShortType, spark.ByteType)),
    "long": (LONG, (spark.LongType, spark.IntegerType, spark.ShortType, spark.ByteType)),
    "float": (FLOAT, (spark.FloatType,)),
    "double": (DOUBLE, (spark.DoubleType, spark.FloatType)),
    "boolean": (BOOLEAN, (spark.BooleanType,)),
}
"""Formats of a single column, as Kafka's own serializers write them, with the Spark types that they accept. The widest
type is first."""


class Registry(Protocol):
    """The methods of a schema registry that the sink needs."""

    def newest(self, subject: str) -> RegisteredSchema | None: ...
    def schema(self, schema_id: int) -> Schema: ...
    def kind(self, schema_id: int) -> str: ...
    def register(self, subject: str, schema: Schema, kind: str = AVRO) -> RegisteredSchema: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The options for the encoding of keys or values.

    Args:
        part: `key` or `value`.
        topic: The topic.
        format: A format of KINDS or PRIMITIVES, or AUTO for the format of the subject's schema.
        subject: The subject. If it is empty, `<topic>-<part>` is used.
        schema_id: Id of the schema, or 0 for the subject's newest schema.
        message: Name of the Protobuf message. If it is empty, the first message is used.
        registers: Whether a schema is derived from the columns and registered if the subject has no schema.
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
    """The encoding of some columns of a row.

    Args:
        format: A format of KINDS or PRIMITIVES.
        row: The columns.
        text: The schema, or "" for a primitive.
        schema_id: Id of the schema.
        message: Name of the Protobuf message. If it is empty, the first message is used.
    """

    format: str
    row: spark.StructType
    text: str = ""
    schema_id: int = 0
    message: str = ""

    def encoder(self) -> Encode:
        """Return a function that encodes rows, and raises ValueMismatch for a row that can't be encoded.

        Raises:
            ColumnMismatch: The columns don't fit the schema.
        """
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
    """Return the encoding of columns, after checking that they fit the schema.

    Args:
        request: The options.
        row: The columns to encode.
        spare: Columns that are also stored elsewhere in the record. They are encoded only if the schema has fields for
            them.
        registry: The schema registry.

    Raises:
        ColumnMismatch: The columns don't fit, or there is no schema. The message says what to change.
        RegistryUnavailable, RegistryRefused: The schema can't be read or registered.
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
