"""A column of a DataFrame that is read: its Spark type, and how values become what Arrow takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pyspark.sql import types as spark

Convert = Callable[[Any], Any]


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
    return Column(spark.ArrayType(item.kind, item.is_nullable), _each(item.convert))


def mapping(item: Column) -> Column:
    """Return the column of a map with string keys, decoded as a dict."""
    change = item.convert
    kind = spark.MapType(spark.StringType(), item.kind, item.is_nullable)
    if change is None:
        return Column(kind, lambda value: list(value.items()))
    return Column(kind, lambda value: [(key, None if part is None else change(part)) for key, part in value.items()])


def _each(change: Convert | None) -> Convert | None:
    if change is None:
        return None
    return lambda values: [None if value is None else change(value) for value in values]
