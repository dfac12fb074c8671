"""Values of SQL types as Python values that a function may change, and back."""

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
    """Return the value."""
    return value


@dataclass(frozen=True, slots=True)
class Conversion:
    """How values of a type go to a function and come from it; both are called with values that are not None.

    Args:
        type: None: any type, whose values are passed as SQL holds them.
        give: Returns the value for the function.
        take: Returns the value of a result. Raises TypeError, ValueError, ArithmeticError: it has another type.
    """

    type: SqlType | None
    give: Convert = pass_value
    take: Convert = pass_value


def conversion_of(kind: SqlType) -> Conversion:
    """Return how values of a type are converted: arrays as lists, maps and structs as dicts."""
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
    """Return the conversion of arrays as lists."""
    give, take = _nullable(item.give), _nullable(item.take)

    def take_all(values: Any) -> tuple[Any, ...]:
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"expected a list, not {type(values).__name__}")
        return tuple([take(value) for value in values])

    return Conversion(ArrayType(_known(item)), lambda values: [give(value) for value in values], take_all)


def map_of(key: Conversion, value: Conversion) -> Conversion:
    """Return the conversion of maps as dicts."""
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
        parts: Fields: the name in SQL, the name in Python, the conversion.
        make: Creates the Python value of keyword arguments.
        field_of: Returns a field of the Python value. Raises TypeError, AttributeError: it is no such value.
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
"""Timestamps as datetimes in UTC. The result of a function may have another zone; without a zone it is UTC, too."""


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
