"""Conversion between values of SQL types and the mutable Python values of user-defined functions."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from forebay.sql.arithmetic import decimal_of, within_bits
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

Convert = Callable[[Any], Any]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_MS = datetime.timedelta(milliseconds=1)
_BITS = {INT: 32, BIGINT: 64, DATE: 32, TIME: 32, TIMESTAMP: 64}


def pass_value(value: Any) -> Any:
    """Return the value unchanged."""
    return value


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion of values of a type for a user-defined function and back. Neither direction is called with None.

    Args:
        type: The SQL type, or None for any type, whose values are passed in their internal representation.
        give: Converts a value for the function.
        take: Converts a result of the function. Raises TypeError, ValueError or ArithmeticError if it does not fit.
    """

    type: SqlType | None
    give: Convert = pass_value
    take: Convert = pass_value


def conversion_of(kind: SqlType) -> Conversion:
    """Return the conversion for a type. Functions receive arrays as lists, and maps and structs as dicts."""
    match kind:
        case DecimalType(precision, scale):
            return Conversion(kind, take=lambda value: decimal_of(_decimal(value), precision, scale))
        case ArrayType(item):
            return array_of(conversion_of(item))
        case MapType(key, value):
            return map_of(conversion_of(key), conversion_of(value))
        case StructType(fields):
            parts = [(name, name, conversion_of(part)) for name, part in fields]
            return struct_of(parts, dict, _field_of_mapping)
    return Conversion(kind, take=_SCALARS[kind])


def array_of(item: Conversion) -> Conversion:
    """Return the conversion between arrays and lists."""
    give, take = _nullable(item.give), _nullable(item.take)

    def take_all(values: Any) -> tuple[Any, ...]:
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"expected a list, not {type(values).__name__}")
        return tuple([take(value) for value in values])

    return Conversion(ArrayType(_known(item)), lambda values: [give(value) for value in values], take_all)


def map_of(key: Conversion, value: Conversion) -> Conversion:
    """Return the conversion between maps and dicts."""
    give_key, give = _nullable(key.give), _nullable(value.give)
    take_key, take = _nullable(key.take), _nullable(value.take)

    def take_all(entries: Any) -> dict[Any, Any]:
        if not isinstance(entries, Mapping):
            raise TypeError(f"expected a dict, not {type(entries).__name__}")
        return {take_key(name): take(part) for name, part in entries.items()}

    return Conversion(
        MapType(_known(key), _known(value)),
        lambda entries: {give_key(name): give(part) for name, part in entries.items()},
        take_all,
    )


def struct_of(
    parts: list[tuple[str, str, Conversion]], make: Callable[..., Any], field_of: Callable[[Any, str], Any]
) -> Conversion:
    """Return the conversion of structs.

    Args:
        parts: The name in SQL, the name in Python and the conversion of each field.
        make: Creates the Python value from keyword arguments.
        field_of: Returns a field of the Python value. Raises TypeError or AttributeError if it has no such field.
    """
    gives = [(name, _nullable(part.give)) for _, name, part in parts]
    takes = [(name, _nullable(part.take)) for _, name, part in parts]
    return Conversion(
        StructType(tuple((name, _known(part)) for name, _, part in parts)),
        lambda row: make(**{name: give(value) for (name, give), value in zip(gives, row, strict=True)}),
        lambda value: tuple([take(field_of(value, name)) for name, take in takes]),
    )


DAYS = Conversion(
    DATE,
    lambda value: datetime.date.fromordinal(value + _FIRST_DAY),
    lambda value: _instance(value, datetime.date).toordinal() - _FIRST_DAY,
)
TIMES = Conversion(
    TIME,
    lambda value: (_EPOCH + value * _MS).time(),
    lambda value: (_EPOCH.combine(_EPOCH, _instance(value, datetime.time), _EPOCH.tzinfo) - _EPOCH) // _MS,
)
INSTANTS = Conversion(
    TIMESTAMP,
    lambda value: _EPOCH + value * _MS,
    lambda value: (_in_zone(_instance(value, datetime.datetime)) - _EPOCH) // _MS,
)
"""Conversion of timestamps to datetimes in UTC. A result may have another zone. Without a zone, it is taken as UTC."""


def _in_zone(value: datetime.datetime) -> datetime.datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)


def _known(part: Conversion) -> SqlType:
    if part.type is None:
        raise TypeError("Any can't be a part of another type: write the type of its values")
    return part.type


def _nullable(convert: Convert) -> Convert:
    return convert if convert is pass_value else lambda value: None if value is None else convert(value)


def _field_of_mapping(value: Any, name: str) -> Any:
    fields = _instance(value, Mapping)
    return fields[name] if name in fields else fields.get(name.lower())


def _instance(value: Any, *kinds: type[Any]) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"expected {kinds[0].__name__}, not {type(value).__name__}")
    return value


def _whole(bits: int) -> Convert:
    def take(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):  # numpy's integers have it, too
            raise TypeError(f"expected int, not {type(value).__name__}")
        return within_bits(value.__index__(), bits)

    return take


def _double(value: Any) -> float:
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise TypeError(f"expected float, not {type(value).__name__}")
    return float(value)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    number: Decimal = _instance(value, Decimal)
    return number


def _text(value: Any) -> str:
    text: str = _instance(value, str)
    if not text.isascii():
        text.encode()  # halves of surrogate pairs can't be written
    return text


_SCALARS: dict[SqlType, Convert] = {
    **{kind: _whole(bits) for kind, bits in _BITS.items()},
    DOUBLE: _double,
    BOOLEAN: lambda value: _instance(value, bool),
    STRING: _text,
    BYTES: lambda value: bytes(_instance(value, bytes, bytearray)),
}
