"""Conversion of values between types, which is implicit if it is lossless, and otherwise needs CAST."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from forebay.sql import instants
from forebay.sql.arithmetic import decimal_of, saturate, text_of_double, within_bits, wrapped_int, wrapped_long
from forebay.sql.datetimes.days import DAY_MS
from forebay.sql.number_texts import decimal_of_text, double_of_text, trim, whole_of
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIME,
    TIMES,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_number,
)

Caster = Callable[[Any], Any]

_RANK: dict[SqlType, int] = {INT: 1, BIGINT: 2, DOUBLE: 4}


def widens(one: SqlType, other: SqlType) -> bool:
    """Return whether values of the first type are implicitly converted to the second type."""
    if one in (other, NULL):
        return True
    if is_number(one) and is_number(other):
        if isinstance(one, DecimalType) and isinstance(other, DecimalType):
            # Both parts must fit. A wider scale must not take digits from the whole part.
            return one.scale <= other.scale and one.precision - one.scale <= other.precision - other.scale
        return _rank(one) < _rank(other)
    match one, other:
        case ArrayType(), ArrayType():
            return widens(one.item, other.item)
        case MapType(), MapType():
            return widens(one.key, other.key) and widens(one.value, other.value)
        case StructType(), StructType():
            names = dict(other.fields)
            return all(name in names and widens(kind, names[name]) for name, kind in one.fields)
    return False


def _rank(kind: SqlType) -> int:
    return 3 if isinstance(kind, DecimalType) else _RANK.get(kind, 0)


def caster(one: SqlType, other: SqlType) -> Caster | None:
    """Return a function that casts a value other than None, or None if no conversion is needed.

    The function raises an error if a value can't be cast.

    Raises:
        TypeError: There is no cast between the types.
    """
    if one in (other, NULL) or (one, other) == (INT, BIGINT):
        return None
    if isinstance(other, DecimalType):
        return _to_decimal(one, other)
    match one, other:
        case ArrayType(), ArrayType():
            item = of_nullable(caster(one.item, other.item))
            return lambda values: tuple(item(element) for element in values)
        case MapType(), MapType():
            key, value = of_nullable(caster(one.key, other.key)), of_nullable(caster(one.value, other.value))
            return lambda values: {key(name): value(item) for name, item in values.items()}
        case StructType(), StructType():
            return _to_struct(one, other)
    if other == STRING:
        return texter(one)
    if is_number(one):
        return _of_number(one, other)
    if one == STRING:
        return _of_text(other)
    if (one, other) == (TIMESTAMP, DATE):
        return lambda value: within_bits(value // DAY_MS, 32)
    if (one, other) == (TIMESTAMP, TIME):
        return lambda value: value % DAY_MS
    if (one, other) == (DATE, TIMESTAMP):
        return lambda value: value * DAY_MS
    raise TypeError(f"{one} can't be cast to {other}")


def of_nullable(cast: Caster | None) -> Caster:
    """Return a cast that returns None for None."""
    if cast is None:
        return lambda value: value
    return lambda value: None if value is None else cast(value)


def _to_decimal(one: SqlType, other: DecimalType) -> Caster:
    precision, scale = other.precision, other.scale
    if is_number(one):
        return lambda value: decimal_of(value, precision, scale)
    if one == STRING:
        return lambda value: decimal_of(decimal_of_text(trim(value)), precision, scale)
    raise TypeError(f"{one} can't be cast to {other}")


def _to_struct(one: StructType, other: StructType) -> Caster:
    parts: list[tuple[int, Caster] | None] = []
    for name, kind in other.fields:
        at = one.index(name)
        parts.append(None if at is None else (at, of_nullable(caster(one.fields[at][1], kind))))
    return lambda value: tuple(None if part is None else part[1](value[part[0]]) for part in parts)


def _of_number(one: SqlType, other: SqlType) -> Caster:
    # Java's cast of a double saturates. A cast of a larger whole type to a smaller one wraps around.
    if other in (INT, BIGINT) and one == DOUBLE:
        bits = 32 if other == INT else 64
        return lambda value: saturate(value, bits)
    if other == INT:
        return lambda value: wrapped_int(int(value))
    if other == BIGINT:
        return lambda value: wrapped_long(int(value))
    if other == DOUBLE:
        return float
    raise TypeError(f"{one} can't be cast to {other}")


def _of_text(other: SqlType) -> Caster:
    if other == INT:
        return lambda value: whole_of(trim(value), 32)
    if other == BIGINT:
        return lambda value: whole_of(trim(value), 64)
    if other == DOUBLE:
        return double_of_text
    if other == BYTES:
        return lambda value: _base64_of(value.strip())
    if other == BOOLEAN:
        # ksqlDB casts every text to false that is not the beginning of a word for true. The cast never fails.
        return lambda text: boolean_of(text) or False
    readers: dict[SqlType, Caster] = {
        TIMESTAMP: instants.timestamp_of,
        DATE: instants.date_of,
        TIME: instants.time_of,
    }
    if other in readers:
        return readers[other]
    raise TypeError(f"STRING can't be cast to {other}")


def _base64_of(text: str) -> bytes:
    """Return the bytes of a base64 text. Its padding may be omitted. Raises ValueError."""
    plain = text.rstrip("=")
    if len(text) - len(plain) not in (0, -len(plain) % 4):
        raise ValueError(f"{text[:50]!r} is not base64")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def boolean_of(text: str) -> bool | None:
    """Return the boolean whose word (true, yes, false, no) begins with the text, as ksqlDB's SqlBooleans, or None."""
    begin = text.strip().lower()
    if not begin:
        return None
    if "true".startswith(begin) or "yes".startswith(begin):
        return True
    return False if "false".startswith(begin) or "no".startswith(begin) else None


def texter(kind: SqlType) -> Caster:
    """Return a function that converts a value to text. Raises TypeError for a type without a cast to text."""
    if kind == DOUBLE:
        return text_of_double
    if kind == BOOLEAN:
        return lambda value: "true" if value else "false"
    if isinstance(kind, DecimalType):
        return lambda value: f"{value:f}"
    if kind in TIMES:
        writers = {
            TIMESTAMP: instants.text_of_timestamp,
            DATE: instants.text_of_date,
            TIME: instants.text_of_time,
        }
        return writers[kind]
    if kind == BYTES:
        raise TypeError("BYTES can't be cast to STRING: write FROM_BYTES(value, 'utf8')")
    match kind:
        case ArrayType(item):
            show = _show(item)
            return lambda values: f"[{', '.join(show(value) for value in values)}]"
        case MapType(key, value):
            left, right = _show(key), _show(value)
            return lambda found: "{" + ", ".join(f"{left(k)}={right(v)}" for k, v in found.items()) + "}"
        case StructType(fields):
            parts = [(name, _show(part)) for name, part in fields]
            return lambda found: (
                "Struct{"
                + ",".join(f"{n}={w(v)}" for (n, w), v in zip(parts, found, strict=True) if v is not None)
                + "}"
            )
    return str


def _show(kind: SqlType) -> Caster:
    write = texter(kind)
    return lambda value: "null" if value is None else write(value)
