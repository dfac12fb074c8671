"""Codecs of rows with Confluent framing in Avro, Protocol Buffers and JSON with a JSON Schema.

Each record contains the id of the schema with which it was written. To read it, this schema is looked up, and columns
are found in it by name. Records are written with a schema that is registered under the topic's subject.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro

from forebay.codec import Codec, DecodeError, EncodeError
from forebay.serde.framing import HEADER_BYTES, header, schema_id_of
from forebay.serde.generic import GenericDecoder, without_times
from forebay.serde.proto_choice import MessagePath, check_message, writers_message
from forebay.serde.proto_messages import class_of, message_of, path_bytes, read_path
from forebay.serde.proto_text import WrongProto
from forebay.serde.schema import InvalidSchema, Schema
from forebay.serde.subjects import AVRO, JSON_SCHEMA, PROTOBUF, Subjects, connected_subjects
from forebay.sql.catalog import Named
from forebay.sql.encodings.readers import reader
from forebay.sql.schemas import avro, messages
from forebay.sql.types import SqlType, StructType


class Door:
    """Access to the registry for the schema with which rows are written, and for the schemas of other writers.

    Args:
        subject: Subject of the schema.
        schema_id: Id of the schema, or 0 if it must be registered or looked up.
    """

    def __init__(self, subject: str, text: str, kind: str, schema_id: int = 0) -> None:
        self.subject = subject
        self.text = text
        self._kind = kind
        self._schema_id = schema_id
        self._header = b""
        self._of: Subjects | None = None
        self._read: dict[int, Any] = {}

    def register(self) -> int:
        """Register the schema if it is new, and return its id. Raises RegistryRefused, RegistryUnavailable."""
        return self._schema_id or connected_subjects().register(self.subject, Schema(self.text), self._kind).schema_id

    @property
    def header(self) -> bytes:
        """The bytes before each row."""
        self._look()
        if not self._header:
            self._header = header(self.register())
        return self._header

    def schema(self, schema_id: int, make: Callable[[str], Any]) -> Any:
        """Return the result of `make` for another writer's schema, which is called once per schema.

        Raises DecodeError, RegistryUnavailable.
        """
        self._look()
        if schema_id not in self._read:
            try:
                self._read[schema_id] = make(connected_subjects().schema(schema_id).text)
            except (WrongProto, InvalidSchema, TypeError, KeyError) as error:
                raise DecodeError(f"the writer's schema {schema_id} can't be used: {error}") from error
        return self._read[schema_id]

    def owns(self, schema_id: int) -> bool:
        """Return whether a schema is registered under this subject. Raises UnknownSchemaId, RegistryUnavailable."""
        return connected_subjects().holds(self.subject, schema_id)

    def _look(self) -> None:
        if self._of is not connected_subjects():
            self._of, self._header = connected_subjects(), b""
            self._read.clear()


class AvroRows:
    """Codec of rows in Avro.

    Args:
        columns: Columns with the spelling of the schema.
        wraps: Whether a single column is a field of a record.
    """

    is_frozen = True

    def __init__(self, columns: tuple[Named, ...], door: Door, *, wraps: bool) -> None:
        self.door, self.register = door, door.register
        self._wraps = wraps
        kind: SqlType = (
            StructType(tuple((column.name, column.type) for column in columns)) if wraps else columns[0].type
        )
        self._from = reader(kind, raw=True, entries=True)
        names: dict[str, Any] = {}
        self._parsed = fastavro.parse_schema(without_times(json.loads(door.text)), names)
        self._to = avro.writer_of(self._parsed, kind, names)
        self._generic: GenericDecoder | None = None
        self._of: Subjects | None = None

    def encode(self, record: Any) -> bytes:
        head = self.door.header
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self._parsed, self._to(record if self._wraps else record[0]))
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise EncodeError(f"{record!r:.200} does not fit its Avro schema: {error}") from error
        return head + out.getvalue()

    def decode(self, data: bytes) -> Any:
        if self._generic is None or self._of is not connected_subjects():
            self._of = connected_subjects()
            self._generic = GenericDecoder(self._of, plain=True)
        result = self._from(self._generic.decode(data))
        return result if self._wraps else (result,)


class JsonSchemaRows:
    """Codec of rows in JSON that follows the id of a JSON Schema. The schema is not needed to decode."""

    is_frozen = True

    def __init__(self, inner: Codec[Any], door: Door) -> None:
        self.door, self.register = door, door.register
        self._inner = inner

    def encode(self, record: Any) -> bytes:
        return self.door.header + self._inner.encode(record)

    def decode(self, data: bytes) -> Any:
        schema_id_of(data)
        return self._inner.decode(data[HEADER_BYTES:])


class ProtobufRows:
    """Codec of rows in Protocol Buffers.

    Args:
        name: Name of the message in the schema, or "" for the first message.
        door: Access to the registry, or None if there is no framing.
        is_chosen: Whether the columns are those of this message, so that records with other messages are errors.
    """

    is_frozen = True

    def __init__(
        self, columns: tuple[Named, ...], text: str, name: str, door: Door | None, *, is_chosen: bool = False
    ) -> None:
        self.door, self.register = door, None if door is None else door.register
        self._fields = tuple((column.name, column.type) for column in columns)
        message = message_of(text, name)
        self._chosen = message if is_chosen else None
        self._make = class_of(message)
        self._write = messages.row_writer(message, self._fields)
        self._own = self._reader(message)
        self._path = path_bytes(message)

    def encode(self, record: Any) -> bytes:
        head = b"" if self.door is None else self.door.header + self._path
        result = self._make()
        try:
            self._write(result, record)
            data: bytes = result.SerializeToString(deterministic=True)
            return head + data
        except (TypeError, ValueError, OverflowError) as error:
            raise EncodeError(f"{record!r:.200} does not fit its message: {error}") from error

    def decode(self, data: bytes) -> Any:
        if self.door is None:
            return self._own(data)
        writer = schema_id_of(data)
        path, at = read_path(data, HEADER_BYTES)
        readers = self.door.schema(writer, lambda text: _Readers(text, writer, self._checked_reader))
        return readers.of(path)(data[at:])

    def _checked_reader(self, message: Any, schema_id: int, path: MessagePath) -> Callable[[bytes], Any]:
        """Return a decoder of a writer's message. Raises DecodeError if it is not the chosen message."""
        if self._chosen is not None:
            door, remedy = self.door, "choose with VALUE_SCHEMA_FULL_NAME or KEY_SCHEMA_FULL_NAME, or write the columns"
            check_message(self._chosen, message, path, lambda: door is not None and door.owns(schema_id), remedy)
        return self._reader(message)

    def _reader(self, message: Any) -> Callable[[bytes], Any]:
        parse, read = class_of(message).FromString, messages.row_reader(message, self._fields)

        def decode(data: bytes) -> Any:
            try:
                return read(parse(data))
            except DecodeError:
                raise
            except Exception as error:
                raise DecodeError(f"{len(data)} bytes are not a valid {message.full_name}: {error}") from error

        return decode


class _Readers:
    """Decoders of the messages of a writer's schema."""

    def __init__(
        self, text: str, schema_id: int, make: Callable[[Any, int, MessagePath], Callable[[bytes], Any]]
    ) -> None:
        self._text, self._schema_id = text, schema_id
        self._make = make
        self._made: dict[MessagePath, Callable[[bytes], Any]] = {}

    def of(self, path: MessagePath) -> Callable[[bytes], Any]:
        """Return a decoder of the message at a path. Raises DecodeError, RegistryUnavailable."""
        if path not in self._made:
            try:
                message = writers_message(self._text, self._schema_id, path)
                self._made[path] = self._make(message, self._schema_id, path)
            except TypeError as error:
                raise DecodeError(f"the writer's schema has no message {path} that fits: {error}") from error
        return self._made[path]


__all__ = ["AVRO", "JSON_SCHEMA", "PROTOBUF", "AvroRows", "Door", "JsonSchemaRows", "ProtobufRows"]
