"""Conversion between records and the plain data that replays use."""

from __future__ import annotations

import typing
from typing import Any

from forebay.records import FrozenMap, fields_of, is_record_type


def plain(record: Any) -> Any:
    """Return a value with dicts and lists instead of records and tuples."""
    if is_record_type(type(record)):
        return {name: plain(getattr(record, name)) for name in fields_of(type(record))}
    if isinstance(record, tuple):
        return [plain(item) for item in record]
    return record


def build(hint: Any, value: Any) -> Any:
    """Return the record of a type with the values of plain Avro data."""
    if value is None:
        return None
    options = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    if typing.get_origin(hint) is tuple:
        return tuple(value)
    if typing.get_origin(hint) is FrozenMap:
        return FrozenMap(value)
    if len(options) == 1:
        return build(options[0], value)
    if is_record_type(hint):
        hints = typing.get_type_hints(hint)
        return typing.cast("Any", hint)(**{name: build(hints[name], item) for name, item in value.items()})
    return value
