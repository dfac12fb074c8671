"""Encoding of a DataFrame's rows as Protocol Buffers by a registered schema."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql import types as spark

from forebay.serde.proto_messages import class_of, decimal_digits, message_of, path_bytes
from forebay.spark.sink_values import (
    ColumnMismatch,
    Convert,
    ValueMismatch,
    field_names,
    join,
    microseconds,
    microseconds_of_day,
    misfit,
    same,
)

Put = Callable[[Any, Any], None]
"""Function of a message and a value that sets a field of the message, or fills the message."""

_SMALL = (spark.ByteType, spark.ShortType)
_INTS = (*_SMALL, spark.IntegerType)
_LONGS = (*_INTS, spark.LongType)
_SCALARS: Mapping[int, tuple[tuple[type[spark.DataType], ...], Convert, str]] = {
    FieldDescriptor.CPPTYPE_INT32: (_INTS, same, "INT"),
    FieldDescriptor.CPPTYPE_INT64: (_LONGS, same, "BIGINT"),
    FieldDescriptor.CPPTYPE_UINT32: (_LONGS, same, "BIGINT"),
    FieldDescriptor.CPPTYPE_UINT64: ((*_LONGS, spark.DecimalType), int, "DECIMAL(20, 0)"),
    FieldDescriptor.CPPTYPE_FLOAT: ((*_SMALL, spark.FloatType), float, "FLOAT"),
    FieldDescriptor.CPPTYPE_DOUBLE: ((*_INTS, spark.FloatType, spark.DoubleType), float, "DOUBLE"),
    FieldDescriptor.CPPTYPE_BOOL: ((spark.BooleanType,), same, "BOOLEAN"),
    FieldDescriptor.CPPTYPE_ENUM: ((spark.StringType,), same, "STRING"),
    FieldDescriptor.CPPTYPE_STRING: ((spark.StringType, spark.CharType, spark.VarcharType), same, "STRING"),
}
_WRAPPERS = "google/protobuf/wrappers.proto"


def protobuf_encoder(text: str, row: spark.StructType, name: str = "") -> Callable[[Mapping[str, Any]], bytes]:
    """Return a function that encodes rows, with the message's path in the schema but without the schema id.

    Args:
        text: The schema, a `.proto` file.
        row: The columns.
        name: Name of the message in the schema. The default is the first message.

    Raises:
        ColumnMismatch: The columns don't fit. The message says what to change.
        WrongProto: The text is not a valid schema.
    """
    message = message_of(text, name)
    fill, make, path = _message(message, row, ""), class_of(message), path_bytes(message)

    def encode(values: Mapping[str, Any]) -> bytes:
        target = make()
        try:
            fill(target, values)
            data: bytes = target.SerializeToString(deterministic=True)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueMismatch(f"the row does not fit the message {message.full_name}: {error}") from error
        return path + data

    return encode


def _message(message: Descriptor, row: spark.StructType, path: str) -> Put:
    fields = {field.name: field for field in message.fields}
    columns = field_names(row, fields, f"the message {message.full_name}", path)
    parts = [
        (column.name, _field(fields[name], column.dataType, join(path, column.name)))
        for name, column in columns.items()
    ]
    choices = [
        [columns[field.name].name for field in choice.fields if field.name in columns]
        for choice in message.oneofs
        if len(choice.fields) > 1
    ]

    def fill(made: Any, values: Mapping[str, Any]) -> None:
        for names in choices:
            present = [join(path, name) for name in names if values[name] is not None]
            if len(present) > 1:
                raise ValueMismatch(f"{' and '.join(present)} have values, but a message holds one of them")
        for name, put in parts:
            put(made, values[name])

    return fill


def _field(field: FieldDescriptor, kind: spark.DataType, path: str) -> Put:
    name = field.name
    if isinstance(kind, spark.NullType) and field.has_presence:
        return lambda made, value: None
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return _not_null(_map(field, kind, path), path, f"coalesce({path}, map())")
        if not isinstance(kind, spark.ArrayType):
            raise misfit(path, kind, f"repeated {_text(field)}", "ARRAY<...>")
        return _not_null(_list(field, kind.elementType, path), path, f"coalesce({path}, array())")
    if field.message_type is not None:
        fill = _filler(field, kind, path)

        def put_message(made: Any, value: Any) -> None:
            if value is not None:
                target = getattr(made, name)
                target.SetInParent()
                fill(target, value)

        return put_message
    convert = _scalar(field, kind, path)
    if field.has_presence:
        return lambda made, value: None if value is None else setattr(made, name, convert(value))
    remedy = f"coalesce({path}, its default), or declare the field `optional`"
    return _not_null(lambda made, value: setattr(made, name, convert(value)), path, remedy)


def _not_null(put: Put, path: str, remedy: str) -> Put:
    """Return a function that refuses null in a field without presence, which would be read as the type's default."""

    def put_value(made: Any, value: Any) -> None:
        if value is None:
            raise ValueMismatch(
                f"{path} is null, but its field has no null (it would be read as the default): write {remedy}"
            )
        put(made, value)

    return put_value


def _list(field: FieldDescriptor, kind: spark.DataType, path: str) -> Put:
    name, place = field.name, f"{path}[]"
    if field.message_type is None:
        convert = _scalar(field, kind, place)
        return lambda made, value: getattr(made, name).extend([_item(convert, part, place) for part in value])
    fill = _filler(field, kind, place)

    def put_all(made: Any, value: Any) -> None:
        target = getattr(made, name)
        for part in value:
            _item(lambda item: fill(target.add(), item), part, place)

    return put_all


def _item(convert: Convert, value: Any, path: str) -> Any:
    if value is None:
        raise ValueMismatch(f"{path} is null, but a repeated field or a map has no null: leave such items out")
    return convert(value)


def _map(field: FieldDescriptor, kind: spark.DataType, path: str) -> Put:
    if not isinstance(kind, spark.MapType):
        raise misfit(path, kind, "map", "MAP<...>")
    name, place = field.name, f"{path}[]"
    keys = _scalar(field.message_type.fields_by_name["key"], kind.keyType, f"{path}[key]")
    values = field.message_type.fields_by_name["value"]
    if values.message_type is None:
        convert = _scalar(values, kind.valueType, place)
        return lambda made, value: getattr(made, name).update(
            {keys(key): _item(convert, part, place) for key, part in value}
        )
    fill = _filler(values, kind.valueType, place, field)

    def put_all(made: Any, value: Any) -> None:
        target = getattr(made, name)
        for key, part in value:
            target[keys(key)].SetInParent()
            _item(lambda item, key=key: fill(target[keys(key)], item), part, place)  # type: ignore[misc]

    return put_all


def _scalar(field: FieldDescriptor, kind: spark.DataType, path: str) -> Convert:
    if field.type == FieldDescriptor.TYPE_BYTES:
        if not isinstance(kind, spark.BinaryType):
            raise misfit(path, kind, "bytes", "BINARY")
        return same
    kinds, convert, ddl = _SCALARS[field.cpp_type]
    if not isinstance(kind, kinds) or (isinstance(kind, spark.DecimalType) and kind.scale):
        raise misfit(path, kind, _text(field), ddl)
    if field.enum_type is not None:
        numbers = {value.name: value.number for value in field.enum_type.values}

        def number_of(value: str) -> int:
            if value not in numbers:
                raise ValueMismatch(f"{path} is {value!r}, which is not one of {', '.join(numbers)}")
            return int(numbers[value])

        return number_of
    return convert


def _filler(field: FieldDescriptor, kind: spark.DataType, path: str, declaring: FieldDescriptor | None = None) -> Put:
    """Return a function that fills a field's message.

    Args:
        field: The field.
        kind: Spark type of the column.
        path: Path of the column, for errors.
        declaring: The field whose options declare the digits of a decimal, if it is not the field itself.
    """
    message = field.message_type
    name = message.full_name
    if str(message.file.name) == _WRAPPERS:
        convert = _scalar(message.fields[0], kind, path)
        return lambda made, value: setattr(made, "value", convert(value))
    if name in _KNOWN:
        wanted, fill, ddl = _KNOWN[name]
        if not isinstance(kind, wanted):
            raise misfit(path, kind, name, ddl)
        digits = decimal_digits(declaring or field)
        return _decimal_filler(kind, *digits, path) if digits and isinstance(kind, spark.DecimalType) else fill
    if not isinstance(kind, spark.StructType):
        raise misfit(path, kind, f"message {name}", "STRUCT<...>")
    return _message(message, kind, path)


def _fill_timestamp(made: Any, value: datetime.datetime) -> None:
    seconds, micros = divmod(microseconds(value), 1_000_000)
    made.seconds, made.nanos = seconds, micros * 1_000


def _fill_duration(made: Any, value: datetime.timedelta) -> None:
    made.FromTimedelta(value)


def _fill_date(made: Any, value: datetime.date) -> None:
    made.year, made.month, made.day = value.year, value.month, value.day


def _fill_time(made: Any, value: datetime.time) -> None:
    made.hours, made.minutes, made.seconds = value.hour, value.minute, value.second
    made.nanos = microseconds_of_day(value) % 1_000_000 * 1_000


def _decimal_filler(kind: spark.DecimalType, precision: int, scale: int, path: str) -> Put:
    if kind.scale > scale or kind.precision - kind.scale > precision - scale:
        raise misfit(path, kind, f"confluent.type.Decimal({precision}, {scale})", f"DECIMAL({precision}, {scale})")
    ones, context = Decimal(1).scaleb(-scale), Context(prec=precision)

    def fill(made: Any, value: Decimal) -> None:
        _fill_decimal(made, context.quantize(value, ones))
        made.precision = precision

    return fill


def _fill_decimal(made: Any, value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ColumnMismatch(f"{value} is not a number")
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    made.value = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    made.precision, made.scale = max(len(digits), -exponent), -exponent


_KNOWN: Mapping[str, tuple[type[spark.DataType], Put, str]] = {
    "google.protobuf.Timestamp": (spark.TimestampType, _fill_timestamp, "TIMESTAMP"),
    "google.protobuf.Duration": (spark.DayTimeIntervalType, _fill_duration, "INTERVAL DAY TO SECOND"),
    "google.type.Date": (spark.DateType, _fill_date, "DATE"),
    "google.type.TimeOfDay": (spark.TimeType, _fill_time, "TIME(6)"),
    "confluent.type.Decimal": (spark.DecimalType, _fill_decimal, "DECIMAL(38, 18)"),
}


def _text(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    return {1: "int32", 2: "int64", 3: "uint32", 4: "uint64", 5: "double", 6: "float", 7: "bool", 8: "enum"}.get(
        field.cpp_type, "string"
    )
