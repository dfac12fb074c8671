"""Protobuf values as structs, in Confluent's framing: zero byte, schema id, index of the message, message bytes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from google.protobuf import json_format

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format
from forebay.ksml.types import UnknownType
from forebay.serde.framing import header
from forebay.serde.proto_choice import FramedMessages
from forebay.serde.proto_identity import identity_of
from forebay.serde.proto_messages import class_of, message_of, messages_of, path_bytes
from forebay.serde.proto_text import WrongProto


class _ProtobufCodec:
    """A codec of structs as messages: fields by their names in the `.proto`, enums by the names of their values.

    A field that is not set is left out of the struct if the schema tracks presence. Otherwise it has its default.
    """

    def __init__(
        self, message: Any, schema_id: int, text_of: Callable[[int], str], owns: Callable[[int], bool]
    ) -> None:
        self._message = message
        self._frames = FramedMessages(message.DESCRIPTOR, text_of, owns, "name the schema of the message as the type")
        self._header = header(schema_id) + path_bytes(message.DESCRIPTOR)

    def encode(self, record: Any) -> bytes:
        if not isinstance(record, dict):
            raise EncodeError(f"{record!r} is not a struct, so no {self._message.__name__}")
        fields = {name: _sendable(value) for name, value in record.items() if name not in ("@type", "@schema")}
        try:
            message = json_format.ParseDict(fields, self._message())
        except json_format.ParseError as error:
            raise EncodeError(f"{record!r} does not fit the schema {self._message.__name__}: {error}") from error
        # Maps have no order in Protobuf, so equal values could have different bytes without this.
        data: bytes = message.SerializeToString(deterministic=True)
        return self._header + data

    def decode(self, data: bytes) -> Any:
        body = self._frames.body(data)
        try:
            message = self._message.FromString(body)
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are not a valid {self._message.__name__}: {error}") from error
        return {"@type": self._message.DESCRIPTOR.name, "@schema": "", **_struct(message)}


def _sendable(value: Any) -> Any:
    """Return a value for ParseDict, with bytes as base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _sendable(item) for name, item in value.items() if name not in ("@type", "@schema")}
    return [_sendable(item) for item in value] if isinstance(value, list | tuple) else value


def _struct(message: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            kind = field.message_type.fields_by_name["value"]
            fields[field.name] = {str(key): _value(kind, item) for key, item in value.items()}
        elif field.is_repeated:
            fields[field.name] = [_value(field, item) for item in value]
        else:
            fields[field.name] = _value(field, value)
    return fields


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _struct(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return value


def _message(name: str, text: str) -> Any:
    """Return the class of the message with a name in a `.proto` text, or of its first message."""
    try:
        named = any(message.name == name for message in messages_of(text))
        return class_of(message_of(text, name if named else ""))
    except WrongProto as error:
        raise UnknownType(f"the schema {name}.proto can't be used: {error}") from error


def protobuf_format(
    name: str, text: str, schema_id: int, text_of: Callable[[int], str], owns: Callable[[int], bool]
) -> Format[Any]:
    """Return the format of a `.proto` text's values as structs. Keys can't have it.

    Args:
        schema_id: Id of the text.
        text_of: Returns the schema of another id. It raises DecodeError, RegistryUnavailable.
        owns: Returns whether the schema of an id is of a subject of this type.

    Raises:
        UnknownType: the text can't be used.
    """
    message = _message(name, text)
    codec = _ProtobufCodec(message, schema_id, lambda number: text if number == schema_id else text_of(number), owns)
    return Format(
        f"protobuf {name}", object, lambda _: codec, identify=lambda: identity_of(message.DESCRIPTOR, "PROTOBUF")
    )
