"""Conversion of JSON values to values of SQL types, as lenient as in ksqlDB, and back."""

from __future__ import annotations

import base64
import math
import reprlib
import types
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from forebay.codec import DecodeError
from forebay.sql.arithmetic import exact_decimal_of, text_of_double
from forebay.sql.encodings.json_bytes import jackson_bytes
from forebay.sql.number_texts import decimal_of_text, double_of_text, trim, whole_of, whole_part
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
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 200
NO_NUMBERS = frozenset(["NaN", "Infinity", "-Infinity"])
"""Texts of the doubles that are not finite, as in Java."""
_DAY_MS = 86_400_000
Path = tuple[str, ...]
"""Path of a value within a row, which consists of names of fields, `ITEM` for an array, and `VALUE` for a map."""
ITEM, VALUE = "items", "value"


def reader(kind: SqlType, *, raw: bool = False, entries: bool = False) -> Convert:
    """Return a function that converts JSON values, in which None is null. It raises DecodeError for an invalid value.

    Args:
        kind: The SQL type.
        raw: Whether bytes are bytes and numbers have different types, as in Avro.
        entries: Whether maps may be lists of entries, as Kafka Connect writes maps with keys that may be null.
    """
    make = _reader(kind, raw, entries)

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return make(value)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise DecodeError(f"{brief(value)} is not a valid {kind}") from error

    return read


def brief(value: Any) -> str:
    """Return the beginning of a value's text for a message. The time does not depend on the size of the value."""
    return _BRIEF.repr(value)


def _reader(kind: SqlType, raw: bool, entries: bool) -> Convert:
    match kind:
        case DecimalType(precision, scale):
            return lambda value: exact_decimal_of(_number(value), precision, scale)
        case ArrayType(item):
            read = reader(item, raw=raw, entries=entries)
            return lambda value: tuple(read(part) for part in _of(value, list))
        case MapType(key, inner):
            one = reader(inner, raw=raw, entries=entries)
            key_of = _same if key == STRING else map_key_reader(key)
            object_of = _map if entries else _same
            return lambda value: {key_of(name): one(part) for name, part in _of(object_of(value), dict).items()}
        case StructType(fields):
            parts = [(name, name.upper(), reader(part, raw=raw, entries=entries)) for name, part in fields]
            return lambda value: tuple(read(field(value, name, upper)) for name, upper, read in parts)
    if raw and kind == BYTES:
        return lambda value: bytes(_of(value, bytes))
    whole = _exact_whole if raw else _whole
    return {
        INT: lambda value: whole(value, 32),
        BIGINT: lambda value: whole(value, 64),
        DOUBLE: _double if raw else _unsigned_zero,
        BOOLEAN: lambda value: bool(_of(value, bool)),
        STRING: _text,
        BYTES: lambda value: base64.b64decode(value, validate=True),
        DATE: lambda value: whole(value, 32),
        TIME: lambda value: time_of_day(whole(value, 32)),
        TIMESTAMP: lambda value: whole(value, 64),
    }[kind]


def map_key_reader(kind: SqlType) -> Convert:
    """Return a function that converts the key of a map, which is a text in many formats. It raises DecodeError."""
    read = boolean_of_text if kind == BOOLEAN else reader(kind)
    return lambda key: None if key in (None, "null") and kind != STRING else read(key)


def field(value: Any, name: str, upper: str) -> Any:
    """Return the field of a JSON object with a name, or with a name that differs in case."""
    content = _of(value, dict).get(name)
    # ksqlDB looks up JSON fields regardless of case. Try the exact name first, which is the common case and takes
    # precedence if both names exist.
    if content is None and name not in value:
        return next((part for other, part in value.items() if other.upper() == upper), None)
    return content


def _of(value: Any, kind: type[Any] | types.UnionType) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{brief(value)} is not a valid {getattr(kind, '__name__', kind)}")
    return value


def _map(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return {field(item, "key", "KEY"): field(item, "value", "VALUE") for item in value}


def _whole(value: Any, bits: int) -> int:
    if isinstance(value, bool):
        raise TypeError("a boolean is not a number")
    return whole_of(value, bits) if isinstance(value, str) else whole_part(_number(value), bits)


def _exact_whole(value: Any, bits: int) -> int:
    # JSON has only one type of numbers. In other formats, a field with a floating-point type is not a whole number.
    return _whole(_of(value, int | str), bits)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise TypeError(f"{brief(value)} is not a number")
    return decimal_of_text(value) if isinstance(value, str) else value


def _double(value: Any) -> float:
    if isinstance(value, str) and trim(value) in NO_NUMBERS:
        return float(value)
    return double_of_text(value) if isinstance(value, str) else float(_number(value))


def _unsigned_zero(value: Any) -> float:
    # ksqlDB reads JSON numbers as BigDecimal, whose zero has no sign. A text keeps it.
    return _double(value) if isinstance(value, str) else _double(value) + 0.0


def time_of_day(ms: int) -> int:
    """Return a TIME (ms since midnight). Raises ValueError if it is outside of a day."""
    if not 0 <= ms <= _DAY_MS:
        raise ValueError(f"a TIME of {ms} ms is outside of a day")
    return ms


def boolean_of_text(text: str) -> bool:
    """Return the BOOLEAN of a text in a format that only contains texts, as Java's `Boolean.parseBoolean`."""
    return text.lower() == "true"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)  # as Java's BigDecimal: 1E+2
    if isinstance(value, list):
        # ksqlDB joins the elements of an array as texts; an object within it is JSON.
        return f"[{', '.join('null' if item is None else _text(item) for item in value)}]"
    if isinstance(value, dict):
        return jackson_bytes(value).decode()
    if isinstance(value, bytes):
        raise TypeError("bytes are not text: declare BYTES")
    return key_text(value)


def writer(
    kind: SqlType, double: Convert | None = None, *, entries: frozenset[Path] = frozenset(), path: Path = ()
) -> Convert:
    """Return a function that converts a value, which may be None, to a value that a JSON encoder supports.

    Args:
        kind: The SQL type.
        double: Converts a DOUBLE. The default is a number, or a text if the DOUBLE is not finite.
        entries: Paths of the maps that are written as lists of entries.
        path: Path of the value.
    """
    match kind:
        case ArrayType(item):
            write = writer(item, double, entries=entries, path=(*path, ITEM))
            return lambda value: None if value is None else [write(part) for part in value]
        case MapType(_, inner):
            one = writer(inner, double, entries=entries, path=(*path, VALUE))
            if path in entries:
                return lambda value: (
                    None if value is None else [{"key": name, "value": one(part)} for name, part in value.items()]
                )
            return lambda value: None if value is None else {key_text(name): one(part) for name, part in value.items()}
        case StructType(fields):
            parts = [(name, writer(part, double, entries=entries, path=(*path, name))) for name, part in fields]
            return lambda value: (
                None if value is None else {n: w(part) for (n, w), part in zip(parts, value, strict=True)}
            )
    return (double or _shown_double) if kind == DOUBLE else _same


def key_text(key: Any) -> str:
    """Return the key of a map as text."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else text_of_double(key) if isinstance(key, float) else str(key)


def _shown_double(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else text_of_double(value)


def _same(value: Any) -> Any:
    return value
