"""A column of a DataFrame that is read: its Spark type, and how values become what Arrow takes."""

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
"""Digits of Spark's longest decimals."""
# The default context rounds to 28 digits.
_shift = Context(prec=MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX).scaleb


_MOST_COLUMNS = 10_000


class ColumnCount:
    """Counts columns within columns: types that use each other have exponentially many."""

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
    """Return Spark's type of a decimal; one of more digits than Spark's is of Spark's longest.

    A value that does not fit can't be decoded.
    """
    return spark.DecimalType(min(precision, MOST_DIGITS), min(scale, MOST_DIGITS))


class Column(NamedTuple):
    """A type and the conversion of its decoded values.

    Args:
        kind: The Spark type.
        convert: Function of a decoded value, never None; None: values are taken as they are.
        is_nullable: Whether values may be null.
    """

    kind: spark.DataType
    convert: Convert | None = None
    is_nullable: bool = False


def struct(fields: list[tuple[str, Column]]) -> Column:
    """Return the column of a record, decoded as a dict."""
    kind = spark.StructType([spark.StructField(name, item.kind, item.is_nullable) for name, item in fields])
    conversions = [(name, item.convert) for name, item in fields if item.convert is not None]
    if not conversions:
        return Column(kind)

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        changed = {name: None if value[name] is None else change(value[name]) for name, change in conversions}
        return {**value, **changed}

    return Column(kind, convert)


def array(item: Column) -> Column:
    """Return the column of a list."""
    change = _part_change(item)
    if change is None:
        return Column(spark.ArrayType(item.kind, item.is_nullable))
    return Column(spark.ArrayType(item.kind, item.is_nullable), lambda values: [change(value) for value in values])


def mapping(item: Column) -> Column:
    """Return the column of a map with string keys, decoded as a dict."""
    change = _part_change(item)
    kind = spark.MapType(spark.StringType(), item.kind, item.is_nullable)
    if change is None:
        return Column(kind, lambda value: list(value.items()))
    return Column(kind, lambda value: [(key, change(part)) for key, part in value.items()])


def time_of_day(nanoseconds: int) -> Convert:
    """Return the conversion of a time to nanoseconds. It raises DecodeError for a time outside of a day.

    Args:
        nanoseconds: The unit in which times are counted.
    """

    def convert(value: int) -> int:
        result = value * nanoseconds
        if not 0 <= result < _DAY_NS:
            raise DecodeError(f"{value} is not a time of a day")
        return result

    return convert


def decimal_of(data: bytes, scale: int) -> Decimal:
    """Return the decimal whose unscaled value is in two's complement, big-endian.

    Raises:
        DecodeError: It has more digits than Spark's decimals.
    """
    unscaled = int.from_bytes(data, "big", signed=True)
    if abs(unscaled) >= 10**MOST_DIGITS:
        raise DecodeError(f"a decimal has more than {MOST_DIGITS} digits")
    return _shift(unscaled, -scale)


def exact_decimal(precision: int, scale: int) -> Convert:
    """Return the conversion of decimals to a precision and a scale. It raises DecodeError if a digit would be lost."""
    ones = Decimal(1).scaleb(-scale)
    context = Context(prec=precision, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, InvalidOperation])

    def convert(value: Decimal) -> Decimal:
        # Arrow's own conversion crashes the process if an exponent is close to -2^31.
        try:
            return context.quantize(value, ones)
        except (Inexact, InvalidOperation):
            raise DecodeError(f"{value!s:.60} does not fit DECIMAL({precision}, {scale})") from None

    return convert


def convert_part(column: Column, value: Any, name: str) -> Any:
    """Return a part of a value as Arrow takes it.

    Args:
        column: The part's column.
        value: The part, which may be null.
        name: What errors call it.

    Raises:
        DecodeError: The part is null, but its column has no nulls. Spark's JVM would fail on it without a reason.
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
