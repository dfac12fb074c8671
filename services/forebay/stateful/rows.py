"""Conversion of a topic's values to rows for a StatefulProcessor, and of the rows that it returns to output values."""

from __future__ import annotations

import datetime
import types
import typing
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from pyspark.sql.types import DateType, Row, StructType, TimestampNTZType, TimestampType, _create_row

from forebay.builder import TopologyError
from forebay.codec import EncodeError
from forebay.formats import Format
from forebay.records import FrozenMap, fields_of, is_record_type
from forebay.stateful.ddl import SchemaError, schema_of

Convert = Callable[[Any], Any]
_new_row = tuple.__new__


def row_maker(kind: Format[Any], schema: StructType | str | None) -> Convert:
    """Return a function that converts a topic's value to a Row.

    Args:
        kind: Format of the values.
        schema: Names and types of the columns, of which dates and timestamps are converted. If it is None, the columns
            are the fields of the value.
    """
    try:
        columns = None if schema is None else schema_of(schema)
    except SchemaError as error:
        raise TopologyError(f"input_schema: {error}") from error
    if is_record_type(kind.type):
        return _of_record(kind.type, columns)
    names = None if columns is None else columns.names
    if kind.type in (str, int, float, bool, bytes):
        named = names or ["value"]
        return lambda value: _create_row(named, (value,))
    converts = {} if columns is None else _times(columns)

    def of_mapping(value: Any) -> Row:
        if not isinstance(value, dict):
            raise TypeError(f"an input value must have columns, but it is {value!r:.80}")
        present = [*value] if names is None else names
        return _create_row(present, tuple(converts.get(name, _mutable)(value.get(name)) for name in present))

    return of_mapping


def _of_record(record: type[Any], columns: StructType | None) -> Convert:
    fields = list(fields_of(record))
    names = fields if columns is None else columns.names
    unknown = [name for name in names if name not in fields]
    if unknown:
        raise TopologyError(f"input_schema: {record.__name__} has no column {unknown[0]!r}; it has {', '.join(fields)}")
    times, hints = {} if columns is None else _times(columns), typing.get_type_hints(record)
    converts = [times.get(name) or (None if _is_plain(hints[name]) else _mutable) for name in names]
    getter: Convert = attrgetter(*names)
    if len(names) == 1:
        single = getter
        getter = lambda value: (single(value),)  # noqa: E731

    def plain(value: Any) -> Row:
        row = _new_row(Row, getter(value))
        row.__fields__ = names
        return row

    if not any(converts):
        return plain

    def convert_all(value: Any) -> Row:
        values = [
            item if convert is None else convert(item) for convert, item in zip(converts, getter(value), strict=True)
        ]
        return _create_row(names, values)

    return convert_all


def _times(columns: StructType) -> dict[str, Convert]:
    """Return, for each date and timestamp column, a function that converts days or ms to a Python object."""
    makers: dict[str, Convert] = {}
    for field in columns.fields:
        kind = field.dataType
        if isinstance(kind, (TimestampType, TimestampNTZType)):
            makers[field.name] = _of_number(kind.fromInternal, 1_000)
        elif isinstance(kind, DateType):
            makers[field.name] = _of_number(kind.fromInternal, 1)
    return makers


def _of_number(convert: Convert, factor: int) -> Convert:
    return lambda value: convert(value * factor) if isinstance(value, int) else value


def _is_plain(hint: Any) -> bool:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return all(map(_is_plain, typing.get_args(hint)))
    return typing.get_origin(hint) is None and not is_record_type(hint)


def _mutable(value: Any) -> Any:
    """Return a value with its tuples, frozen maps and records replaced by lists, dicts and Rows."""
    if is_record_type(type(value)):
        names = list(fields_of(type(value)))
        return _create_row(names, tuple(_mutable(getattr(value, name)) for name in names))
    if isinstance(value, dict):
        return {name: _mutable(item) for name, item in value.items()}
    return [_mutable(item) for item in value] if isinstance(value, (tuple, list)) else value


def value_maker(kind: Format[Any], where: str) -> Convert:
    """Return a function that converts a Row, a tuple or a dict to an output value.

    Fields are assigned by position, as in Spark. Only those of a dict are assigned by name.

    Args:
        kind: Format of the output values.
        where: Name of the user's class in error messages.
    """
    if is_record_type(kind.type):
        make = _to_record(kind.type)
    elif kind.type in (str, int, float, bool, bytes):
        make = lambda row: row[0] if isinstance(row, tuple) and len(row) == 1 else row  # noqa: E731
    else:
        make = lambda row: row.asDict(recursive=True) if isinstance(row, Row) else row  # noqa: E731

    def check_and_make(row: Any) -> Any:
        # Exclude tuples and dicts first. On a Row, hasattr() formats an error message, which would cost more than the
        # whole conversion.
        if not isinstance(row, (tuple, dict)) and hasattr(row, "iloc"):
            raise TypeError(
                f"{where} returned a pandas DataFrame, so it was written for transformWithStateInPandas: Forebay runs "
                "classes for transformWithState, which return Rows"
            )
        return make(row)

    return check_and_make


def _to_record(record: type[Any]) -> Convert:
    names = fields_of(record)
    hints = typing.get_type_hints(record)
    converts = [_frozen_by(hints[name]) for name in names]

    def make(row: Any) -> Any:
        if isinstance(row, dict):
            unknown = row.keys() - set(names)
            if unknown:
                raise EncodeError(f"{record.__name__} has no column {min(unknown)!r}; it has {', '.join(names)}")
            return record(
                **{name: convert(row[name]) for name, convert in zip(names, converts, strict=True) if name in row}
            )
        if not isinstance(row, (tuple, list)):
            raise EncodeError(f"an output is a Row of {', '.join(names)}, not {row!r:.80} ({type(row).__name__})")
        if len(row) != len(names):
            raise EncodeError(
                f"{record.__name__} has {len(names)} columns ({', '.join(names)}), {row!r:.80} has {len(row)}"
            )
        return record(*[convert(item) for convert, item in zip(converts, row, strict=True)])

    return make


def _frozen_by(hint: Any) -> Convert:
    """Return a function that converts a row's value to the immutable value of a record's field."""
    options = [item for item in typing.get_args(hint) if item is not type(None)] if _is_union(hint) else [hint]
    (only,) = options if len(options) == 1 else (None,)
    if only is not None and is_record_type(only):
        make = _to_record(only)
        return lambda value: None if value is None else make(value)
    origin, arguments = typing.get_origin(only), typing.get_args(only)
    if origin is tuple:
        element_of = _frozen_by(arguments[0])
        return lambda value: None if value is None else tuple(map(element_of, value))
    if origin is FrozenMap:
        entry = _frozen_by(arguments[1])
        return lambda value: None if value is None else FrozenMap({name: entry(item) for name, item in value.items()})
    return _milliseconds


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _milliseconds(value: Any) -> Any:
    """Return a datetime as ms since the epoch, and a NumPy scalar as a Python value. Other values are unchanged."""
    if isinstance(value, datetime.datetime):
        return TimestampType().toInternal(value) // 1_000
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
