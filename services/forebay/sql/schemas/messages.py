"""Conversion of rows to messages of Protocol Buffers, and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from forebay.sql.arithmetic import EXACT, decimal_of, within_bits
from forebay.sql.encodings.readers import key_text, map_key_reader, reader
from forebay.sql.schemas.protobuf import is_declared_map, is_map, is_wrapper
from forebay.sql.types import DATE, STRING, TIME, TIMESTAMP, ArrayType, DecimalType, MapType, SqlType, StructType

Convert = Callable[[Any], Any]
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DECIMAL_BYTES = 64
"""Largest number of bytes of a decimal, which is enough for 154 digits. A column has at most 64 digits."""


def field_of(message: Descriptor, name: str) -> FieldDescriptor | None:
    """Return the field with a name, or with a name that differs in case."""
    result = message.fields_by_name.get(name)
    return result or next((field for field in message.fields if field.name.upper() == name.upper()), None)


def row_reader(message: Descriptor, fields: tuple[tuple[str, SqlType], ...]) -> Convert:
    """Return a function that converts a message to a row. Fields that the message does not have are null."""
    parts = [_field_reader(field_of(message, name), kind) for name, kind in fields]
    return lambda value: tuple(read(value) for read in parts)


def _field_reader(field: FieldDescriptor | None, kind: SqlType) -> Convert:
    if field is None:
        return lambda message: None
    name = field.name
    match kind:
        case MapType(key, item) if is_map(field):
            one, key_of = _value_reader(field.message_type.fields_by_name["value"], item), map_key_reader(key)
            if not is_declared_map(field):
                return lambda message: {
                    key_of(str(item.key)): _entry_value(one, item) for item in getattr(message, name)
                }
            return lambda message: {key_of(str(item)): one(part) for item, part in getattr(message, name).items()}
        case ArrayType(item) if field.is_repeated:
            read_item = _value_reader(field, item)
            return lambda message: tuple(read_item(part) for part in getattr(message, name))
    read = _value_reader(field, kind)
    # Without presence, an unset field can't be distinguished from its default value, so it is never null.
    if field.has_presence:
        return lambda message: read(getattr(message, name)) if message.HasField(name) else None
    return lambda message: read(getattr(message, name))


def _entry_value(read: Convert, entry: Any) -> Any:
    """Return the value of a map entry that is a message. If it is not set, it may be null."""
    if entry.DESCRIPTOR.fields_by_name["value"].has_presence and not entry.HasField("value"):
        return None
    return read(entry.value)


def _value_reader(field: FieldDescriptor, kind: SqlType) -> Convert:
    message = field.message_type
    if message is None:
        symbols = field.enum_type.values_by_number if field.enum_type is not None else None
        if symbols is not None:
            return lambda value: symbols[value].name if value in symbols else str(value)
        return _scalar(kind)
    if is_wrapper(message):
        return lambda value: value.value
    match kind:
        case StructType(fields):
            return row_reader(message, fields)
        case DecimalType(precision, scale):
            return lambda value: decimal_of(EXACT.scaleb(_decimal(value.value), -value.scale), precision, scale)
    if kind == TIMESTAMP:
        return lambda value: within_bits(value.seconds * 1_000 + value.nanos // 1_000_000, 64)
    if kind == DATE:
        return lambda value: datetime.date(value.year, value.month, value.day).toordinal() - _EPOCH
    if kind == TIME:
        return lambda v: within_bits(((v.hours * 60 + v.minutes) * 60 + v.seconds) * 1_000 + v.nanos // 1_000_000, 32)
    raise TypeError(f"the field {field.name} is a message {message.full_name}, declared is {kind}")


def _decimal(data: bytes) -> Decimal:
    """Return the unscaled value of a decimal from its bytes. Raises ValueError."""
    if len(data) > _DECIMAL_BYTES:
        # Check the size first, because converting 100,000 bytes takes seconds.
        raise ValueError(f"a decimal of {len(data)} bytes has more digits than any column holds")
    return Decimal(int.from_bytes(data, "big", signed=True))


def _scalar(kind: SqlType) -> Convert:
    return reader(kind, raw=True)


def row_writer(message: Descriptor, fields: tuple[tuple[str, SqlType], ...]) -> Callable[[Any, Any], None]:
    """Return a function that fills a message with a row. Raises TypeError if the message lacks a field."""
    parts = [_field_writer(message, name, kind) for name, kind in fields]

    def write(made: Any, row: Any) -> None:
        for put, part in zip(parts, row, strict=True):
            if part is not None:
                put(made, part)

    return write


def _field_writer(message: Descriptor, name: str, kind: SqlType) -> Callable[[Any, Any], None]:
    field = field_of(message, name)
    if field is None:
        raise TypeError(f"the message {message.full_name} has no field {name}")
    name = field.name
    match kind:
        case MapType(_, item) if is_map(field):
            inner = field.message_type.fields_by_name["value"]
            is_text = field.message_type.fields_by_name["key"].type == FieldDescriptor.TYPE_STRING
            if not is_declared_map(field):
                write = row_writer(field.message_type, (("key", STRING), ("value", item)))
                return _entries_writer(name, write, key_text if is_text else _same)
            fill = _filler(inner, item)

            def put_map(made: Any, value: Any) -> None:
                target = getattr(made, name)
                for given, part in value.items():
                    key = key_text(given) if is_text else given
                    if fill is None:
                        target[key] = inner.default_value if part is None else part
                    # A map of messages can't hold null. An empty message replaces it, as in ksqlDB.
                    elif part is None:
                        target[key].SetInParent()
                    else:
                        fill(target[key], part)

            return put_map
        case ArrayType(item) if field.is_repeated:
            fill_each = _filler(field, item)

            def put_all(made: Any, value: Any) -> None:
                target = getattr(made, name)
                for part in value:
                    if part is None:
                        # Another value in its place would be read as one that was sent.
                        raise ValueError(f"a repeated field has no null, and {name} has one: filter the array's nulls")
                    if fill_each is None:
                        target.append(part)
                    else:
                        fill_each(target.add(), part)

            return put_all
    fill_one = _filler(field, kind)
    if fill_one is None:
        return lambda made, value: setattr(made, name, value)

    def put(made: Any, value: Any) -> None:
        target = getattr(made, name)
        target.SetInParent()
        fill_one(target, value)

    return put


def _same(value: Any) -> Any:
    return value


def _entries_writer(name: str, write: Callable[[Any, Any], None], key_of: Convert) -> Callable[[Any, Any], None]:
    """Return a function that fills a map which is declared as a repeated message of key and value."""

    def put_entries(made: Any, value: Any) -> None:
        entries = getattr(made, name)
        for given, part in value.items():
            write(entries.add(), (key_of(given), part))

    return put_entries


def _filler(field: FieldDescriptor, kind: SqlType) -> Callable[[Any, Any], None] | None:
    """Return a function that fills a field's message, or None if the field is a scalar."""
    message = field.message_type
    if message is None:
        return None
    if is_wrapper(message):
        return lambda made, value: setattr(made, "value", value)
    if isinstance(kind, StructType):
        return row_writer(message, kind.fields)
    if isinstance(kind, DecimalType):
        return _fill_decimal
    return {TIMESTAMP: _fill_timestamp, DATE: _fill_date, TIME: _fill_time}[kind]  # type: ignore[index]


def _fill_decimal(made: Any, value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    # The sign takes one bit in addition to those of the number.
    made.value = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    made.precision, made.scale = max(len(digits), -exponent), -exponent


def _fill_timestamp(made: Any, value: int) -> None:
    made.seconds, made.nanos = value // 1_000, value % 1_000 * 1_000_000


def _fill_date(made: Any, value: int) -> None:
    date = datetime.date.fromordinal(value + _EPOCH)
    made.year, made.month, made.day = date.year, date.month, date.day


def _fill_time(made: Any, value: int) -> None:
    seconds, ms = divmod(value, 1_000)
    made.hours, made.minutes, made.seconds, made.nanos = (
        seconds // 3600,
        seconds // 60 % 60,
        seconds % 60,
        ms * 1_000_000,
    )
