"""Python representation of values of SQL types, and encoding of rows for stores and repartition topics.

A row is a tuple of columns. Whole numbers are ints, decimals are Decimals, dates and times are ints. Structs are tuples
of their fields, arrays are tuples, and maps are dicts that must not be changed.
"""

from __future__ import annotations

import decimal
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

import msgspec

from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats import Contracts, Format, identities
from forebay.formats.identities import Identity, columns_of
from forebay.sql.arithmetic import EXACT
from forebay.sql.text_keys import decode_text_keys
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

_CLASSES: dict[SqlType, Any] = {
    INT: int,
    BIGINT: int,
    DOUBLE: float,
    BOOLEAN: bool,
    STRING: str,
    BYTES: bytes,
    DATE: int,
    TIME: int,
    TIMESTAMP: int,
}
Row = tuple[Any, ...]


def hint_of(kind: SqlType) -> Any:
    """Return the Python type of a SQL type's values, including None."""
    match kind:
        case DecimalType():
            return decimal.Decimal | None
        case ArrayType(item):
            return many(hint_of(item)) | None
        case MapType(key, value):
            return dict[_plain(key) | None, hint_of(value)] | None  # type: ignore[misc]
        case StructType(fields):
            return tuple_of([hint_of(item) for _, item in fields]) | None
    return _CLASSES.get(kind, int) | None


def _plain(kind: SqlType) -> Any:
    return decimal.Decimal if isinstance(kind, DecimalType) else _CLASSES.get(kind, str)


def tuple_of(hints: Sequence[Any]) -> Any:
    """Return the Python type of tuples whose items have the types in this order."""
    return types.GenericAlias(tuple, tuple(hints))


def many(hint: Any) -> Any:
    """Return the Python type of tuples of any length with items of a type."""
    return types.GenericAlias(tuple, (hint, ...))


class RowCodec:
    """Codec of rows in MessagePack, which are decoded by the types of their columns.

    It also decodes rows of release 0.2, whose maps have texts as keys.

    Args:
        hint: Python type of the rows.
    """

    is_frozen = True

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(hint).decode

    @property
    def hints(self) -> tuple[Any, ...]:
        """The Python types of the columns."""
        return get_args(self._hint)

    def widen(self, hints: Sequence[Any]) -> RowCodec:
        """Return the codec of rows with additional columns."""
        return RowCodec(tuple_of((*self.hints, *hints)))

    def encode(self, record: Any) -> bytes:
        try:
            return self._encode(record)
        except (TypeError, ValueError, OverflowError) as error:
            raise EncodeError(f"{record!r} is not a row: {error}") from error

    def decode(self, data: bytes) -> Any:
        try:
            return self._decode(data)
        except (msgspec.DecodeError, ValueError) as error:
            try:
                # Try the current format first, because it is by far the most common. Only a row that does not fit may
                # be of release 0.2.
                return decode_text_keys(data, self._hint)
            except (msgspec.DecodeError, ValueError):
                raise DecodeError(f"{len(data)} bytes are not a row: {error}") from error


def row_identity(layout: Sequence[str]) -> Callable[[], Identity]:
    """Return a function that returns the identity of rows with these columns. Without columns, it is not known."""
    return lambda: columns_of("\n".join(layout)) if layout else None


def format_of_hints(name: str, hints: Sequence[Any], layout: tuple[str, ...] = ()) -> Format[Any]:
    """Return the format of rows whose columns have these Python types.

    Args:
        name: Name of the format.
        hints: Python types of the columns.
        layout: Names and types of the columns, which stores record.
    """
    hint = tuple_of(hints)

    def codec(_contracts: Contracts) -> Codec[Any]:
        return RowCodec(hint)

    return Format(name, tuple, codec, layout=layout, identify=row_identity(layout))


@lru_cache(4096)
def row_format(columns: tuple[SqlType, ...], names: tuple[str, ...] = ()) -> Format[Any]:
    """Return the format of rows with columns of these types in stores and repartition topics.

    Args:
        columns: Types of the columns.
        names: Names of the columns, which stores record.
    """
    layout = tuple(f"{name} {kind}" for name, kind in zip(names, columns, strict=True)) if names else ()
    name = f"row of {', '.join(map(str, columns)) or 'nothing'}"
    return format_of_hints(name, [hint_of(column) for column in columns], layout)


def computed_from(rows: Format[Any], former: str) -> Format[Any]:
    """Return the format of rows that are computed from other rows, for which a text describes how."""
    return replace(rows, identify=lambda: identities.computed_from(former, rows.identity))


_BITS = {INT: 32, BIGINT: 64}


def as_held(value: Any, kind: SqlType) -> Any:
    """Return a value in the representation of a type, or None if no value of the type equals it."""
    if kind == DOUBLE:
        return float(value) if float(value) == value else None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(kind, DecimalType):
        number, digits = decimal.Decimal(value), kind.precision - kind.scale
        # The size is checked before all digits are written out.
        if number and number.adjusted() >= digits:
            return None
        held = number.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=EXACT)
        return held if held == number else None
    if kind not in _BITS:
        return value
    if not abs(value) < 1 << _BITS[kind]:
        return None
    whole, edge = int(value), 1 << (_BITS[kind] - 1)
    return whole if whole == value and -edge <= whole < edge else None
