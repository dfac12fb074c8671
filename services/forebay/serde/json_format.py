"""JSON as a format of values: any of it, or that of a frozen dataclass's fields."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format, bytes_rows
from forebay.records import FrozenMap, check_record_type, fields_of, is_record_type

T = TypeVar("T")


class _JsonCodec:
    """UTF-8 text without spaces, fields in order of their names: one value has one text."""

    def encode(self, record: Any) -> bytes:
        try:
            text = json.dumps(record, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise EncodeError(f"{record!r} is no JSON: {error}") from error
        return text.encode()

    def decode(self, data: bytes) -> Any:
        try:
            return _frozen(json.loads(data.decode(), parse_constant=_refuse))
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are no JSON: {error}") from error


class _RecordCodec:
    """JSON objects of a dataclass's fields; a missing field is null where its type says so, others are refused."""

    def __init__(self, record: type[Any]) -> None:
        check_record_type(record)
        self._record = record
        self._json = _JsonCodec()

    def encode(self, record: Any) -> bytes:
        if record.__class__ is not self._record:
            raise EncodeError(f"{record!r} is no {self._record.__name__}")
        return self._json.encode(_plain(record))

    def decode(self, data: bytes) -> Any:
        try:
            return _record_of(self._record, self._json.decode(data), self._record.__name__)
        except TypeError as error:
            raise DecodeError(str(error)) from error


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenMap({name: _frozen(each) for name, each in value.items()})
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _plain(value: Any) -> Any:
    if is_record_type(type(value)):
        return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _of_hint(hint: Any, value: Any, where: str) -> Any:
    """Return a JSON value as a field's type has it. Raises TypeError naming the field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _of_union(arguments, value, where)
    if origin is tuple and isinstance(value, tuple):
        return tuple(_of_hint(arguments[0], each, f"{where}[{index}]") for index, each in enumerate(value))
    if origin is FrozenMap and isinstance(value, FrozenMap):
        return FrozenMap({name: _of_hint(arguments[1], each, f"{where}.{name}") for name, each in value.items()})
    if is_record_type(hint) and isinstance(value, FrozenMap):
        return _record_of(hint, value, where)
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    name = getattr(hint, "__name__", str(hint))
    raise TypeError(f"{where} is {value!r}, not {name}: the producer must send the field's type")


def _of_union(members: tuple[Any, ...], value: Any, where: str) -> Any:
    for member in members:
        if member is type(None):
            if value is None:
                return None
            continue
        try:
            return _of_hint(member, value, where)
        except TypeError:
            continue
    names = ", ".join(getattr(each, "__name__", str(each)) for each in members)
    raise TypeError(f"{where} is {value!r}, none of {names}: the producer must send one of the field's types")


def _record_of(record: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, FrozenMap):
        raise TypeError(f"{where} is {value!r}, not an object")
    hints = typing.get_type_hints(record)
    unknown = sorted(value.keys() - hints.keys())
    if unknown:
        raise TypeError(f"{where} has unknown fields: {', '.join(unknown)}")
    return record(**{name: _of_hint(hint, value.get(name), f"{where}.{name}") for name, hint in hints.items()})


_CODEC = _JsonCodec()
_ROW, _OF_ROW = bytes_rows(_CODEC)

JSON: Format[Any] = Format("JSON", object, lambda _: _CODEC, _ROW, _OF_ROW)
"""Any JSON value."""


def json_of(record: type[T]) -> Format[T]:
    """Return the format of a frozen dataclass as a JSON object: its fields and their types are the schema.

    Raises:
        TypeError: the dataclass could be changed in place.
    """
    codec = _RecordCodec(record)
    row, of_row = bytes_rows(codec)
    return Format(f"JSON {record.__name__}", record, lambda _: codec, row, of_row)
