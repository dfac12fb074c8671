"""Formats of keys with several fields, as Avro or in this library's own encoding. Rows sort by the fields in order."""

from __future__ import annotations

import struct
import typing
from typing import Any, TypeVar

from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats import BOOLEAN, BYTES, DOUBLE, LONG, TEXT, UUID, Format, no_contracts
from forebay.formats.identities import by_place
from forebay.records import fields_of, is_record_type
from forebay.serde.codec import AvroCodec
from forebay.serde.resolver import UnknownSchemaId
from forebay.serde.schema import RegisteredSchema, Schema
from forebay.stores.keys import join_key, split_key

T = TypeVar("T")

_FIELDS: dict[Any, Format[Any]] = {kind.type: kind for kind in (TEXT, BYTES, LONG, DOUBLE, BOOLEAN, UUID)}
_LENGTH = struct.Struct(">i")


class _CompositeCodec:
    """Codec of keys with several fields. It writes the length (4 bytes) and the bytes of each field."""

    def __init__(self, record: type[Any], fields: tuple[tuple[str, Format[Any]], ...]) -> None:
        self._record = record
        self._fields = [(name, kind.codec(no_contracts)) for name, kind in fields]

    def encode(self, record: Any) -> bytes:
        if record.__class__ is not self._record:
            raise EncodeError(f"{record!r} is not a valid {self._record.__name__}")
        parts = [codec.encode(getattr(record, name)) for name, codec in self._fields]
        return b"".join(_LENGTH.pack(len(part)) + part for part in parts)

    def decode(self, data: bytes) -> Any:
        fields, at = {}, 0
        for name, codec in self._fields:
            begin = at + _LENGTH.size
            (length,) = _LENGTH.unpack_from(data, at) if begin <= len(data) else (-1,)
            if not 0 <= length <= len(data) - begin:
                raise DecodeError(
                    f"{len(data)} bytes are not a valid {self._record.__name__}: they end before the field {name}"
                )
            at = begin + length
            fields[name] = codec.decode(data[begin:at])
        if at != len(data):
            raise DecodeError(f"{len(data)} bytes are not a valid {self._record.__name__}: {len(data) - at} follow it")
        return self._record(**fields)


class OneSchema:
    """A resolver of only the key's schema. With another schema, equal keys would be in other partitions."""

    def __init__(self, schema_id: int) -> None:
        self._id = schema_id

    def schema(self, schema_id: int) -> Schema:
        raise UnknownSchemaId(
            f"the key was written with the schema {schema_id}, not with {self._id}, and equal "
            "keys would be in different partitions: its producer must use the same schema"
        )


def composite(record: type[T]) -> Format[T]:
    """Return a format of keys with several fields, for repartitions and stores.

    Args:
        record: Record class whose fields are texts, bytes, numbers, booleans or UUIDs.

    Raises:
        TypeError: A field has another type, or may be null.
    """
    fields = _fields(record)
    return _key(f"composite {record.__name__}", "composite", record, _CompositeCodec(record, fields), fields)


def avro_key(record: type[T], schema: str, schema_id: int) -> Format[T]:
    """Return the format of Avro keys in Confluent's framing.

    Args:
        record: Record class of the keys.
        schema: Schema of the topic's `-key` subject, as JSON.
        schema_id: Id of the schema in the registry. It is part of a key's bytes, whose hash determines the partition.

    Raises:
        TypeError: A field is not a text, bytes, number, boolean or UUID.
        ContractMismatch: The record and the schema differ.
    """
    codec = AvroCodec(record, RegisteredSchema(schema_id, Schema(schema)), OneSchema(schema_id))
    return _key(f"Avro key {record.__name__} ({schema_id})", "AVRO", record, codec, _fields(record), schema_id)


def _key(
    name: str,
    head: str,
    record: type[T],
    codec: Codec[T],
    fields: tuple[tuple[str, Format[Any]], ...],
    schema_id: int | None = None,
) -> Format[T]:
    rows: list[tuple[str, Any, Any]] = [(field, kind.row, kind.of_row) for field, kind in fields]

    def row(key: T) -> str:
        return join_key(*(of_field(getattr(key, field)) for field, of_field, _ in rows))

    def of_row(text: str) -> T:
        parts = split_key(text)
        return record(**{field: read(part) for (field, _, read), part in zip(rows, parts, strict=True)})

    return Format(
        name,
        record,
        lambda _: codec,
        row,
        of_row,
        identify=lambda: by_place(head, [(field, kind.identity) for field, kind in fields], schema_id),
    )


def _fields(record: type[Any]) -> tuple[tuple[str, Format[Any]], ...]:
    if not is_record_type(record):
        raise TypeError(f"{record.__name__} is not a record: give a frozen dataclass whose fields make the key")
    hints = typing.get_type_hints(record)
    for name in fields_of(record):
        if hints[name] not in _FIELDS:
            known = ", ".join(kind.__name__ for kind in _FIELDS)
            raise TypeError(
                f"{record.__name__}.{name} is {getattr(hints[name], '__name__', hints[name])}: a key's fields are one "
                f"of {known}, and never null"
            )
    return tuple((name, _FIELDS[hints[name]]) for name in fields_of(record))
