"""JSON as a format of values: any JSON value, or an object with the fields of a frozen dataclass."""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from operator import itemgetter
from typing import Any, TypeVar

from forebay.codec import DecodeError, EncodeError
from forebay.formats import JSON_WIRE, Format, bytes_rows
from forebay.formats.identities import by_name
from forebay.formats.record_shapes import shape_of
from forebay.records import FrozenMap, check_record_type, defaults_of, fields_of, is_record_type
from forebay.serde.json_records import check_of, reader_of

T = TypeVar("T")

_SCALARS = frozenset({str, int, float, bool, types.NoneType})
_HINTS: dict[type[Any], dict[str, Any]] = {}


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number of JSON")


# `json.dumps` and `json.loads` would create these at each call.
_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_read = json.JSONDecoder(parse_constant=_refuse).decode


class _JsonCodec:
    """Codec of any JSON value. It writes UTF-8 without spaces and with sorted fields, so that a value has one text."""

    is_frozen = True

    def encode(self, record: Any) -> bytes:
        try:
            text = _write(record)
        except (TypeError, ValueError) as error:
            raise EncodeError(f"{record!r} is not JSON: {error}") from error
        return text.encode()

    def decode(self, data: bytes) -> Any:
        try:
            return _freeze(_read(data.decode()))
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"{len(data)} bytes are not JSON: {error}") from error

    def canonical(self, value: Any) -> Any:
        """Return the value as `decode` returns it: lists as tuples, objects as frozen maps.

        Raises:
            EncodeError: JSON has no such value, or a key is not text. JSON would convert such a key to text, and logic
                that looks up the original key would not find it.
        """
        return _read_back(value)


class _RecordCodec:
    """Codec of JSON objects with a dataclass's fields.

    A missing field has its default. Without a default, it is null if its type allows this. Otherwise the object is
    refused.
    """

    is_frozen = True

    def __init__(self, record: type[Any]) -> None:
        check_record_type(record)
        _check_fields(record)
        self._record = record
        self._read = reader_of(record)
        self._is_read_back = check_of(record)
        self._json = _JsonCodec()

    def encode(self, record: Any) -> bytes:
        if record.__class__ is not self._record:
            raise EncodeError(f"{record!r} is not a valid {self._record.__name__}")
        return self._json.encode(_plain(record))

    def decode(self, data: bytes) -> Any:
        # If this fails for any reason, the slower path below raises an error that says why.
        with suppress(Exception):
            return self._read(_read(data.decode()))
        try:
            return _record_of(self._record, self._json.decode(data), self._record.__name__)
        except TypeError as error:
            raise DecodeError(str(error)) from error

    def canonical(self, record: Any) -> Any:
        """Return the record as `decode` returns it, with floats for whole numbers in a `float` and tuples for lists."""
        if record.__class__ is not self._record:
            raise EncodeError(f"{record!r} is not a valid {self._record.__name__}")
        if self._is_read_back(record):
            return record
        try:
            return _record_of(self._record, _read_back(_plain(record)), self._record.__name__)
        except TypeError as error:
            raise EncodeError(str(error)) from error


def _check_fields(record: type[Any]) -> None:
    """Raise TypeError, which names the field, if JSON can't represent a field's type."""
    for name, hint in _hints(record).items():
        _check_hint(hint, f"{record.__name__}.{name}")


def _check_hint(hint: Any, where: str) -> None:
    arguments = typing.get_args(hint)
    # Refuse this when the format is created. Otherwise the first such value would fail in a running job.
    if hint in (bytes, Decimal):
        raise TypeError(f"{where}: {hint.__name__} has no place in JSON; keep it as text")
    if typing.get_origin(hint) is FrozenMap:
        if arguments[0] not in (str, int):
            raise TypeError(f"{where}: keys of JSON objects are texts; use FrozenMap[str, ...] or FrozenMap[int, ...]")
        arguments = arguments[1:]
    if is_record_type(hint):
        _check_fields(hint)
    for argument in arguments:
        _check_hint(argument, where)


def _hints(record: type[Any]) -> dict[str, Any]:
    """Return the types of a record's fields. They are cached, because looking them up takes longer than a decode."""
    if record not in _HINTS:
        _HINTS[record] = typing.get_type_hints(record)
    return _HINTS[record]


def _read_back(value: Any) -> Any:
    kind = value.__class__
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, dict):
        # In the order of the text, in which `decode` reads them.
        return FrozenMap(sorted([(_key(name), _read_back(item)) for name, item in value.items()], key=itemgetter(0)))
    if isinstance(value, (list, tuple)):
        return tuple([_read_back(item) for item in value])
    if isinstance(value, (str, int, float)):
        return _scalar(value)
    raise EncodeError(
        f"{value!r} is not JSON: {kind.__name__} can't be written as JSON; use a text or a number instead"
    )


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise EncodeError(f"the key {name!r} is not text, so it would be read back as one: keep it under str(key)")
    return str.__str__(name)


def _scalar(value: Any) -> Any:
    """Return the plain value of a subclass, such as an enumeration. Raise EncodeError for NaN and infinity."""
    if isinstance(value, float):
        # JSON has no NaN or Infinity, but Python's encoder writes them, and no other reader accepts them.
        if not math.isfinite(value):
            raise EncodeError(f"{value!r} is not a JSON number: use None instead")
        return float.__float__(value)
    return str.__str__(value) if isinstance(value, str) else int.__int__(value)


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenMap({name: _freeze(item) for name, item in value.items()})
    return tuple([_freeze(item) for item in value]) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if value.__class__ in _SCALARS:
        return value
    if is_record_type(type(value)):
        return {name: _plain(getattr(value, name)) for name in fields_of(type(value))}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name) if type(name) is int else name: _plain(item) for name, item in value.items()}
    return value


def _of_hint(hint: Any, value: Any, where: str) -> Any:
    """Return a JSON value converted to a field's type. Raise TypeError, which names the field, if it does not fit."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _of_union(arguments, value, where)
    if origin is tuple and isinstance(value, tuple):
        return _of_items(arguments, value, where)
    if origin is FrozenMap and isinstance(value, FrozenMap):
        key = _number if arguments[0] is int else _text
        return FrozenMap(
            {key(name, where): _of_hint(arguments[1], item, f"{where}.{name}") for name, item in value.items()}
        )
    if is_record_type(hint) and isinstance(value, FrozenMap):
        return _record_of(hint, value, where)
    # Many producers write 1.0 as 1, because JSON has only one type of number.
    if hint is float and type(value) is int:
        return _double(value, where)
    if isinstance(hint, type) and type(value) is hint:
        return value
    name = getattr(hint, "__name__", str(hint))
    raise TypeError(f"{where} is {value!r}, not {name}: the producer must send the field's type")


def _double(value: int, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise TypeError(f"{where} is too large for a float: the producer must send the field's type") from None


def _text(name: str, _where: str) -> str:
    return name


def _number(name: str, where: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise TypeError(
            f"{where} has the key {name!r}, not a number: the producer must send the field's type"
        ) from None


def _of_items(arguments: tuple[Any, ...], value: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    hints = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
    if len(hints) != len(value):
        raise TypeError(f"{where} is {value!r}, not {len(hints)} values: the producer must send the field's type")
    return tuple(
        _of_hint(hint, item, f"{where}[{index}]") for index, (hint, item) in enumerate(zip(hints, value, strict=True))
    )


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
    names = ", ".join(getattr(member, "__name__", str(member)) for member in members)
    raise TypeError(f"{where} is {value!r}, none of {names}: the producer must send one of the field's types")


def _record_of(record: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, FrozenMap):
        raise TypeError(f"{where} is {value!r}, not an object")
    hints = {name: _hints(record)[name] for name in fields_of(record)}
    unknown = sorted(value.keys() - hints.keys())
    if unknown:
        raise TypeError(f"{where} has unknown fields: {', '.join(unknown)}")
    # A field that was added with a default is missing in older records, which must still be readable.
    for name in defaults_of(record) - value.keys():
        del hints[name]
    return record(**{name: _of_hint(hint, value.get(name), f"{where}.{name}") for name, hint in hints.items()})


_CODEC = _JsonCodec()
_ROW, _OF_ROW = bytes_rows(_CODEC)

JSON: Format[Any] = Format(
    "JSON",
    object,
    lambda _: _CODEC,
    _ROW,
    _OF_ROW,
    wire=JSON_WIRE,
    takes=lambda wire: wire == JSON_WIRE,
    identify=lambda: by_name("JSON"),
)
"""Any JSON value."""


def json_of(record: type[T]) -> Format[T]:
    """Return the format of JSON objects with the fields of a record class.

    Args:
        record: Record or frozen dataclass. Its fields and their types are the schema.

    Raises:
        TypeError: The class is mutable, or JSON can't represent a field's type.
    """
    codec = _RecordCodec(record)
    row, of_row = bytes_rows(codec)
    return Format(
        f"JSON {record.__name__}",
        record,
        lambda _: codec,
        row,
        of_row,
        wire=JSON_WIRE,
        identify=lambda: by_name("JSON", shape_of(record)),
    )
