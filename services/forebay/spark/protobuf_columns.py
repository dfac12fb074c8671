"""Mapping of Protocol Buffers types to Spark types, and conversion of messages to them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql import types as spark

from forebay.codec import DecodeError
from forebay.serde.proto_choice import FramedMessages
from forebay.serde.proto_messages import class_of, decimal_digits, message_of
from forebay.spark.columns import Column, ColumnCount, decimal_of, declared_decimal, exact_decimal, time_of_day
from forebay.spark.errors import SchemaNotSupported

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SCALARS: Mapping[int, spark.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: spark.IntegerType(),
    FieldDescriptor.CPPTYPE_INT64: spark.LongType(),
    FieldDescriptor.CPPTYPE_UINT32: spark.LongType(),
    FieldDescriptor.CPPTYPE_UINT64: spark.DecimalType(20, 0),
    FieldDescriptor.CPPTYPE_FLOAT: spark.FloatType(),
    FieldDescriptor.CPPTYPE_DOUBLE: spark.DoubleType(),
    FieldDescriptor.CPPTYPE_BOOL: spark.BooleanType(),
    FieldDescriptor.CPPTYPE_STRING: spark.StringType(),
}
_WRAPPERS = "google/protobuf/wrappers.proto"
_DECIMAL = "confluent.type.Decimal"


def protobuf_column(text: str, name: str = "") -> Column:
    """Return the column for a message of a schema. It converts messages that `protobuf_reader` has parsed.

    Args:
        text: The schema, a `.proto` file.
        name: Name of the message. The default is the first message.

    Raises:
        SchemaNotSupported: Spark can't express the message.
    """
    return _Plan().message(message_of(text, name), (), "value")


def protobuf_reader(text: str, name: str = "") -> Callable[[bytes], Any]:
    """Return a function that parses a message's bytes. It raises DecodeError."""
    message = class_of(message_of(text, name))

    def read(data: bytes) -> Any:
        try:
            return message.FromString(data)
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are not a valid {message.DESCRIPTOR.full_name}: {error}") from error

    return read


class ProtobufDecoder:
    """Decoder of framed messages of one type.

    Args:
        text: The schema with which messages are parsed.
        name: Name of the message. If it is empty, the first message is used.
        text_of: Returns the schema with an id. It raises DecodeError, RegistryUnavailable.
        owns: Returns whether the schema with an id is registered under the subject that is read.
    """

    def __init__(
        self, text: str, name: str, text_of: Callable[[int], str], owns: Callable[[int], bool] = lambda _: False
    ) -> None:
        self._read = protobuf_reader(text, name)
        remedy = "choose with the option valueMessage or keyMessage"
        self._frames = FramedMessages(message_of(text, name), text_of, owns, remedy)

    def decode(self, data: bytes) -> Any:
        """Return a message. Raises DecodeError, RegistryUnavailable."""
        return self._read(self._frames.body(data))


class _Plan:
    def __init__(self) -> None:
        self._count = ColumnCount()

    def message(self, message: Descriptor, through: tuple[str, ...], path: str) -> Column:
        if message.file.name == _WRAPPERS:
            inner = _scalar(message.fields[0])
            return inner._replace(convert=lambda made: _convert(inner, made.value))
        if message.full_name in _KNOWN:
            return _KNOWN[message.full_name]
        if message.full_name in through:
            raise SchemaNotSupported(
                f"{path} has the recursive type {message.full_name}, for which Spark has no type: read it with "
                "valueFormat=bytes"
            )
        through = (*through, message.full_name)
        self._count.add(len(message.fields))
        fields = [(field, self._field(field, through, f"{path}.{field.name}")) for field in message.fields]
        kind = spark.StructType([spark.StructField(field.name, item.kind, item.is_nullable) for field, item in fields])
        readers = [(field.name, field.has_presence, item) for field, item in fields]

        def convert(made: Any) -> dict[str, Any]:
            return {
                name: None if has_presence and not made.HasField(name) else _convert(item, getattr(made, name))
                for name, has_presence, item in readers
            }

        return Column(kind, convert)

    def _field(self, field: FieldDescriptor, through: tuple[str, ...], path: str) -> Column:
        message = field.message_type
        if not field.is_repeated:
            item = self._of_value(field, through, path)
            return item._replace(is_nullable=field.has_presence)
        if message is not None and message.GetOptions().map_entry:
            key, value = (
                _scalar(message.fields_by_name["key"]),
                self._of_value(message.fields_by_name["value"], through, path, field),
            )
            return Column(
                spark.MapType(key.kind, value.kind, value.is_nullable),
                lambda made: [(_convert(key, name), _convert(value, part)) for name, part in made.items()],
            )
        item = self._of_value(field, through, path)
        return Column(
            spark.ArrayType(item.kind, item.is_nullable), lambda made: [_convert(item, part) for part in made]
        )

    def _of_value(
        self, field: FieldDescriptor, through: tuple[str, ...], path: str, declaring: FieldDescriptor | None = None
    ) -> Column:
        """Return the column of a field's values.

        Args:
            field: The field.
            through: The messages that contain this field.
            path: Path of the field, for errors.
            declaring: The field whose options declare the digits of a decimal, if it is not the field itself.
        """
        if field.message_type is None:
            return _scalar(field)
        if field.message_type.full_name != _DECIMAL:
            return self.message(field.message_type, through, path)
        digits = decimal_digits(declaring or field)
        return _KNOWN[_DECIMAL] if digits is None else _decimal(declared_decimal(*digits))


def _scalar(field: FieldDescriptor) -> Column:
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return Column(spark.StringType(), lambda number: names.get(number, str(number)))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return Column(spark.BinaryType())
    return Column(_SCALARS[field.cpp_type], Decimal if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else None)


def _convert(column: Column, value: Any) -> Any:
    return value if column.convert is None else column.convert(value)


def _microseconds(made: Any) -> int:
    return int(made.seconds) * 1_000_000 + int(made.nanos) // 1_000


def _days(made: Any) -> int | None:
    try:
        return datetime.date(made.year, made.month, made.day).toordinal() - _EPOCH
    except ValueError as error:
        raise DecodeError(f"{made.year}-{made.month}-{made.day} is not a date: {error}") from error


def _decimal(kind: spark.DecimalType) -> Column:
    fit = exact_decimal(kind.precision, kind.scale)
    return Column(kind, lambda made: fit(decimal_of(made.value, made.scale)))


_in_a_day = time_of_day(1)
_KNOWN: Mapping[str, Column] = {
    "google.protobuf.Timestamp": Column(spark.TimestampType(), _microseconds),
    "google.protobuf.Duration": Column(spark.DayTimeIntervalType(), _microseconds),
    "google.type.Date": Column(spark.DateType(), _days),
    "google.type.TimeOfDay": Column(
        spark.TimeType(),
        lambda made: _in_a_day(((made.hours * 60 + made.minutes) * 60 + made.seconds) * 1_000_000_000 + made.nanos),
    ),
    _DECIMAL: _decimal(spark.DecimalType(38, 18)),
}
