"""Conversion of a history's keys to SQL keys, which have a value of the declared type for each key column."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from forebay.spark.sink_values import ValueMismatch

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MS = datetime.timedelta(milliseconds=1)
_EXACT: Mapping[str, tuple[type, ...]] = {
    "STRING": (str,),
    "INTEGER": (int,),
    "BIGINT": (int,),
    "BOOLEAN": (bool,),
    "BYTES": (bytes,),
}


class KeyColumn(Protocol):
    """A declared key column."""

    @property
    def name(self) -> str:
        """Name of the column."""
        ...

    @property
    def type(self) -> Any:
        """SQL type of the column."""
        ...


def sql_key(columns: Sequence[KeyColumn], key: Any) -> tuple[Any, ...]:
    """Return a key's values in the order of its declared columns.

    The bytes of a key determine its partition. A value of another type is therefore refused, not converted.

    Args:
        columns: The declared key columns.
        key: The value of the only key column, or a dict with the value of each key column by name.

    Raises:
        ValueMismatch: The key has other columns, or a value is not of the declared type.
    """
    names = ", ".join(column.name for column in columns)
    if not isinstance(key, dict):
        if len(columns) != 1:
            raise ValueMismatch(f"the key {key!r} is one value: give a struct of the topic's key columns {names}")
        return (_value(columns[0], key),)
    given = {name.casefold(): value for name, value in key.items()}
    if given.keys() != {column.name.casefold() for column in columns}:
        raise ValueMismatch(f"the key has the fields {', '.join(key)}, the topic's keys have {names}")
    return tuple(_value(column, given[column.name.casefold()]) for column in columns)


def _value(column: KeyColumn, value: Any) -> Any:
    if value is None:
        return None
    kind = str(column.type)
    convert = _CONVERTERS.get(kind.partition("(")[0])
    converted = None
    if type(value) in _EXACT.get(kind, ()):
        return value
    if convert is not None:
        converted = convert(value, kind)
    if converted is None:
        raise ValueMismatch(f"the key column {column.name} is {kind}, its value {value!r} is not: CAST it")
    return converted


def _double(value: Any, _kind: str) -> float | None:
    return float(value) if isinstance(value, float) else None


def _decimal(value: Any, kind: str) -> Decimal | None:
    precision, scale = (int(part) for part in kind[len("DECIMAL(") : -1].split(","))
    if not isinstance(value, Decimal):
        return None
    try:
        scaled = value.quantize(Decimal(1).scaleb(-scale))
    except InvalidOperation:
        return None
    return scaled if scaled == value and len(scaled.as_tuple().digits) <= precision else None


def _date(value: Any, _kind: str) -> int | None:
    is_date = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return (value - _EPOCH.date()).days if is_date else None


def _time(value: Any, _kind: str) -> int | None:
    if not isinstance(value, datetime.time):
        return None
    return (datetime.datetime.combine(_EPOCH.date(), value, datetime.UTC) - _EPOCH) // _MS


def _timestamp(value: Any, _kind: str) -> int | None:
    if not isinstance(value, datetime.datetime):
        return None
    return (value.replace(tzinfo=value.tzinfo or datetime.UTC) - _EPOCH) // _MS


_CONVERTERS: Mapping[str, Callable[[Any, str], Any]] = {
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "DATE": _date,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
}
