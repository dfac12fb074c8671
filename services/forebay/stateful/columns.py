"""Checks of values against Spark types, and their conversion to and from values that MessagePack supports."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    _create_row,
)

from forebay.codec import EncodeError
from forebay.stateful.ddl import SchemaError

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_TIMES = (DateType, TimestampType, TimestampNTZType, DayTimeIntervalType)
_SINGLE = struct.Struct("<f")


class Column(NamedTuple):
    """The functions that check, store and load values of a type.

    Args:
        check: Returns a value in the form in which it is read later. Raises EncodeError.
        store: Converts a checked value to a value that MessagePack supports. None means that no conversion is needed.
        load: Converts a decoded value back. None means that no conversion is needed.
        is_frozen: Whether values are immutable, so that logic can't change them in place.
    """

    check: Callable[[Any], Any]
    store: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None
    is_frozen: bool = True


def column_of(kind: DataType, where: str) -> Column:
    """Return the column for a Spark type. `where` names it in errors. Raises SchemaError for an unsupported type."""
    bits = _BITS.get(type(kind))
    if bits is not None:
        return Column(_whole(bits, where))
    if isinstance(kind, (FloatType, DoubleType)):
        return Column(_real(where, is_single=isinstance(kind, FloatType)), load=float)
    if isinstance(kind, StringType):
        return Column(_exactly(str, "a string", where))
    if isinstance(kind, BooleanType):
        return Column(_exactly(bool, "a boolean", where))
    if isinstance(kind, BinaryType):
        return Column(_binary(where))
    if isinstance(kind, DecimalType):
        return Column(_decimal(kind, where), str, Decimal)
    if isinstance(kind, _TIMES):
        return _time(kind, where)
    if isinstance(kind, ArrayType):
        return _array(kind, where)
    if isinstance(kind, MapType):
        return _map(kind, where)
    if isinstance(kind, StructType):
        return _struct(kind, where)
    raise SchemaError(f"{where} is {kind.simpleString()}, which state can't hold: use another type")


def or_null(column: Column, nullable: bool, where: str) -> Column:
    """Return the column with a check that accepts None, or that raises EncodeError for None if it is not nullable."""
    check = column.check

    def check_all(value: Any) -> Any:
        if value is not None:
            return check(value)
        if nullable:
            return None
        raise EncodeError(f"{where} is null, but its type is NOT NULL")

    return Column(check_all, _unless_null(column.store), _unless_null(column.load), column.is_frozen)


def _unless_null(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _refusal(where: str, value: Any, wanted: str) -> EncodeError:
    return EncodeError(f"{where} takes {wanted}, not {value!r:.80} ({type(value).__name__})")


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python value, as Spark does. Other values are returned unchanged."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _whole(bits: int, where: str) -> Callable[[Any], int]:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def check(value: Any) -> int:
        if value.__class__ is not int:
            value = _plain(value)
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise _refusal(where, value, "a whole number")
            value = operator.index(value)
        if not least <= value <= most:
            raise _refusal(where, value, f"a whole number of {bits} bits")
        return int(value)

    return check


def _real(where: str, is_single: bool) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if value.__class__ is not float:
            value = _plain(value)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _refusal(where, value, "a number")
            value = float(value)
        # A FLOAT column has single precision. Round here, so that the value does not change when it is read back.
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0]) if is_single else float(value)

    return check


def _exactly(wanted: type[Any], words: str, where: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value.__class__ is wanted:
            return value
        value = _plain(value)
        if not isinstance(value, wanted):
            raise _refusal(where, value, words)
        return wanted(value)

    return check


def _binary(where: str) -> Callable[[Any], bytes]:
    def check(value: Any) -> bytes:
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        raise _refusal(where, value, "bytes")

    return check


def _decimal(kind: DecimalType, where: str) -> Callable[[Any], Decimal]:
    unit, limit = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)

    def check(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (Decimal, int)) or not Decimal(value).is_finite():
            raise _refusal(where, value, "a Decimal")
        try:
            rounded = Decimal(value).quantize(unit)
        except InvalidOperation:
            rounded = limit
        if abs(rounded) >= limit:
            raise _refusal(where, value, kind.simpleString())
        return rounded

    return check


def _time(kind: Any, where: str) -> Column:
    def check(value: Any) -> Any:
        try:
            return kind.fromInternal(kind.toInternal(value))
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise _refusal(where, value, f"a Python object for {kind.simpleString()}") from error

    return Column(check, kind.toInternal, kind.fromInternal)


def _array(kind: ArrayType, where: str) -> Column:
    element = or_null(
        column_of(kind.elementType, f"an element of {where}"), kind.containsNull, f"an element of {where}"
    )
    check, store, load = element.check, element.store or _same, element.load or _same

    def check_all(value: Any) -> list[Any]:
        if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            raise _refusal(where, value, "a list")
        return [check(item) for item in value]

    return Column(
        check_all, lambda value: list(map(store, value)), lambda value: list(map(load, value)), is_frozen=False
    )


def _map(kind: MapType, where: str) -> Column:
    key = column_of(kind.keyType, f"a key of {where}")
    entry = or_null(column_of(kind.valueType, f"a value of {where}"), kind.valueContainsNull, f"a value of {where}")
    store_key, load_key = key.store or _same, key.load or _same
    store, load = entry.store or _same, entry.load or _same

    def check_all(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise _refusal(where, value, "a dict")
        return {key.check(name): entry.check(item) for name, item in value.items()}

    return Column(
        check_all,
        lambda value: [[store_key(name), store(item)] for name, item in value.items()],
        lambda pairs: {load_key(name): load(item) for name, item in pairs},
        is_frozen=False,
    )


def _struct(kind: StructType, where: str) -> Column:
    names = kind.names
    columns = [
        or_null(column_of(field.dataType, f"{where}.{field.name}"), field.nullable, f"{where}.{field.name}")
        for field in kind.fields
    ]
    stores, loads = [column.store or _same for column in columns], [column.load or _same for column in columns]

    def check_all(value: Any) -> Any:
        values = order_values(value, names, where)
        return _create_row(names, tuple(column.check(item) for column, item in zip(columns, values, strict=True)))

    def store(row: Any) -> dict[str, Any]:
        return {name: keep(item) for name, keep, item in zip(names, stores, row, strict=True)}

    def load(stored: dict[str, Any]) -> Any:
        return _create_row(names, tuple(read(stored.get(name)) for name, read in zip(names, loads, strict=True)))

    # Rows are tuples, but logic can change the lists and dicts that they contain.
    return Column(check_all, store, load, is_frozen=all(column.is_frozen for column in columns))


def order_values(value: Any, names: list[str], where: str) -> Any:
    """Return the fields of a tuple, Row, list or dict in the order of `names`. Raises EncodeError."""
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, str) and len(names) == 1:
        # Spark also accepts a string for a schema with one column.
        return (value,)
    if not isinstance(value, (tuple, list)):
        raise _refusal(where, value, f"a tuple of {', '.join(names)}")
    if len(value) != len(names):
        raise EncodeError(f"{where} has {len(names)} columns ({', '.join(names)}), but {value!r:.80} has {len(value)}")
    return value


def _same(value: Any) -> Any:
    return value
