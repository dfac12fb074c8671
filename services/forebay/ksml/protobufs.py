"""Protobuf values as structs, in Confluent's framing: a zero byte, the schema's id, the message's place, its bytes."""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf import json_format

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format
from forebay.ksml.protos import message_class
from forebay.serde.framing import HEADER_BYTES, header, schema_id_of


class _ProtobufCodec:
    """Structs as messages: fields by the names of the `.proto`, enums by the names of their values.

    A field that is not set is not in the struct where the schema tells that, else it has its default.
    """

    def __init__(self, message: Any, schema_id: int) -> None:
        self._message = message
        place = list(message.DESCRIPTOR.file.message_types_by_name).index(message.DESCRIPTOR.name)
        # The path to the message: one zero byte for the first, else its length 1 and its number, as zigzag varints.
        self._header = header(schema_id) + (b"\0" if not place else b"\x02" + _varint(2 * place))

    def encode(self, record: Any) -> bytes:
        if not isinstance(record, dict):
            raise EncodeError(f"{record!r} is no struct, so no {self._message.__name__}")
        fields = {name: _sendable(value) for name, value in record.items() if name not in ("@type", "@schema")}
        try:
            made = json_format.ParseDict(fields, self._message())
        except json_format.ParseError as error:
            raise EncodeError(f"{record!r} does not fit the schema {self._message.__name__}: {error}") from error
        data: bytes = made.SerializeToString(deterministic=True)
        return self._header + data

    def decode(self, data: bytes) -> Any:
        schema_id_of(data)
        count, at = _read(data, HEADER_BYTES)
        for _ in range(count // 2):
            _, at = _read(data, at)
        try:
            found = self._message.FromString(data[at:])
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are no {self._message.__name__}: {error}") from error
        return {"@type": self._message.DESCRIPTOR.name, "@schema": "", **_struct(found)}


def _sendable(value: Any) -> Any:
    """Return a value as ParseDict takes it: bytes are base64 there."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _sendable(each) for name, each in value.items() if name not in ("@type", "@schema")}
    return [_sendable(each) for each in value] if isinstance(value, list | tuple) else value


def _struct(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            kind = field.message_type.fields_by_name["value"]
            found[field.name] = {str(key): _value(kind, each) for key, each in value.items()}
        elif field.is_repeated:
            found[field.name] = [_value(field, each) for each in value]
        else:
            found[field.name] = _value(field, value)
    return found


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _struct(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return value


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def _read(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data):
            raise DecodeError(f"{len(data)} bytes are no Protobuf in Confluent's framing: they end before the message")
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return number, at


def protobuf_format(name: str, text: str, schema_id: int) -> Format[Any]:
    """Return the format of a `.proto` text's values as structs. No key can have it. Raises UnknownType."""
    codec = _ProtobufCodec(message_class(text, name), schema_id)
    return Format(f"protobuf {name}", object, lambda _: codec)
