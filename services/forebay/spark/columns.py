"""Columns of a DataFrame that is read: their Spark types, and the conversion of values for Arrow."""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Any, NamedTuple

from pyspark.sql import types as spark

from forebay.codec import DecodeError
from forebay.spark.errors import SchemaNotSupported

Convert = Callable[[Any], Any]
_DAY_NS = 24 * 60 * 60 * 1_000_000_000
MOST_DIGITS = 38
"""Largest precision of a Spark decimal."""
# Python's default context rounds to 28 digits.
_shift = Context(prec=MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX).scaleb

_MOST_COLUMNS = 10_000
MOST_LEVELS = 100
"""Most types within types. It doesn't depend on Python's recursion limit, which long topologies raise."""


class ColumnCount:
    """Counter of nested columns, because types that use each other can expand to exponentially many columns."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, columns: int) -> None:
        """Count further columns. Raises SchemaNotSupported if there are too many for a DataFrame."""
        self._count += columns
        if self._count > _MOST_COLUMNS:
            raise SchemaNotSupported(
                f"the schema has more than {_MOST_COLUMNS:,} columns within columns, because its types use each other: "
                "read it with valueFormat=bytes (or keyFormat=bytes), and decode what you need"
            )


def declared_decimal(precision: int, scale: int) -> spark.DecimalType:
    """Return the Spark type of a decimal. Precision and scale are reduced to Spark's maximum.

    A value that does not fit the reduced type can't be decoded.
    """
    return spark.DecimalType(min(precision, MOST_DIGITS), min(scale, MOST_DIGITS))


class Column(NamedTuple):
    """A column's type and the conversion of its decoded values.

    Args:
        kind: The Spark type.
        convert: Converts a decoded value other than None. If it is None, values need no conversion.
        is_nullable: Whether values may be null.
    """

    kind: spark.DataType
    convert: Convert | None = None
    is_nullable: bool = False


def has_too_many_levels(kind: spark.DataType) -> bool:
    """Return whether a type has types within types more than MOST_LEVELS levels deep."""
    level: list[spark.DataType] = [kind]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inner_types(outer)]
    return bool(level)


def _inner_types(kind: spark.DataType) -> list[spark.DataType]:
    match kind:
        case spark.StructType():
            return [field.dataType for field in kind.fields]
        case spark.ArrayType():
            return [kind.elementType]
        case spark.MapType():
            return [kind.valueType]
        case _:
            return []


def struct(fields: list[tuple[str, Column]]) -> Column:
    """Return the column for a record that is decoded as a dict."""
    kind = spark.StructType([spark.StructField(name, item.kind, item.is_nullable) for name, item in fields])
    conversions = [(name, item.convert) for name, item in fields if item.convert is not None]
    if not conversions:
        return Column(kind)

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        changed = {name: None if value[name] is None else change(value[name]) for name, change in conversions}
        return {**value, **changed}

    return Column(kind, convert)


def array(item: Column) -> Column:
    """Return the column for a list."""
    change = _part_change(item)
    if change is None:
        return Column(spark.ArrayType(item.kind, item.is_nullable))
    return Column(spark.ArrayType(item.kind, item.is_nullable), lambda values: [change(value) for value in values])


def mapping(item: Column) -> Column:
    """Return the column for a map with string keys that is decoded as a dict."""
    change = _part_change(item)
    kind = spark.MapType(spark.StringType(), item.kind, item.is_nullable)
    if change is None:
        return Column(kind, lambda value: list(value.items()))
    return Column(kind, lambda value: [(key, change(part)) for key, part in value.items()])


def time_of_day(nanoseconds: int) -> Convert:
    """Return a function that converts a time of day to nanoseconds. It raises DecodeError for a time outside of a day.

    Args:
        nanoseconds: Length of the unit of the times, in nanoseconds.
    """

    def convert(value: int) -> int:
        result = value * nanoseconds
        if not 0 <= result < _DAY_NS:
            raise DecodeError(f"{value} is not a time of a day")
        return result

    return convert


def decimal_of(data: bytes, scale: int) -> Decimal:
    """Return the decimal with an unscaled value in big-endian two's complement.

    Raises:
        DecodeError: It has more digits than a Spark decimal can have.
    """
    unscaled = int.from_bytes(data, "big", signed=True)
    if abs(unscaled) >= 10**MOST_DIGITS:
        raise DecodeError(f"a decimal has more than {MOST_DIGITS} digits")
    return _shift(unscaled, -scale)


def exact_decimal(precision: int, scale: int) -> Convert:
    """Return a function that converts decimals to a precision and a scale.

    The function raises DecodeError if a digit would be lost.
    """
    ones = Decimal(1).scaleb(-scale)
    context = Context(prec=precision, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, InvalidOperation])

    def convert(value: Decimal) -> Decimal:
        # Convert here, because Arrow's conversion crashes the process if an exponent is close to -2^31.
        try:
            return context.quantize(value, ones)
        except (Inexact, InvalidOperation):
            raise DecodeError(f"{value!s:.60} does not fit DECIMAL({precision}, {scale})") from None

    return convert


def convert_part(column: Column, value: Any, name: str) -> Any:
    """Return a field or an item of a value, converted for Arrow.

    Args:
        column: The column of the field or item.
        value: The field or item, which may be None.
        name: Name of the field or item in error messages.

    Raises:
        DecodeError: The value is None, but the column is not nullable. Spark's JVM would fail without a message.
    """
    if value is None:
        if column.is_nullable:
            return None
        raise DecodeError(f"{name} is null or missing, but its schema allows no null")
    return value if column.convert is None else column.convert(value)


def _part_change(item: Column) -> Convert | None:
    if item.convert is None:
        return None
    return lambda value: convert_part(item, value, "an item")
