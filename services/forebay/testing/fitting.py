"""Checks of records by their types, for topologies whose contracts are not written yet."""

from __future__ import annotations

import dataclasses
import types
import typing
from decimal import Decimal
from typing import Any

import msgspec

from forebay.codec import EncodeError
from forebay.records import FrozenMap, fields_of, is_record_type, replace

_SCALARS = (str, bool, bytes, Decimal, type(None))
_LONG = range(-(1 << 63), 1 << 63)


def fit(value: Any, hint: Any, path: str) -> Any:
    """Return a value in the form in which it is read from Avro. A whole number in a `float` becomes a float.

    Args:
        hint: Type of the field.
        path: Path of the field, for the message.

    Raises:
        EncodeError: Avro would refuse the value, because it is not of this type.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _of_union(value, arguments, path)
    if is_record_type(hint):
        return fitted_record(value, hint, path)
    if origin is tuple and arguments[1:] == (...,):
        _check(value, tuple, path)
        return tuple([fit(item, arguments[0], f"{path}[{index}]") for index, item in enumerate(value)])
    if origin is FrozenMap:
        _check(value, FrozenMap, path)
        for name in value:
            _check(name, str, f"{path} (a key)")
        return FrozenMap({name: fit(item, arguments[1], f"{path}[{name!r}]") for name, item in value.items()})
    if hint is float and type(value) is int:
        return float(value)
    if hint in (int, float, *_SCALARS) or hint is None:
        _check(value, type(None) if hint is None else hint, path)
        if hint is int and value not in _LONG:
            raise EncodeError(f"{path}: {value} does not fit into long ({_LONG.start} to {_LONG.stop - 1})")
    return value


def fitted_record(value: Any, record: type[Any], path: str = "") -> Any:
    """Return a record with all fields in the form in which they are read from Avro. Raise EncodeError (see `fit`)."""
    path = path or record.__name__
    _check(value, record, path)
    changes: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(record).items():
        if name in fields_of(record):
            old = getattr(value, name)
            new = fit(old, hint, f"{path}.{name}")
            if new is not old:
                changes[name] = new
    if not changes:
        return value
    return replace(value, **changes) if isinstance(value, msgspec.Struct) else dataclasses.replace(value, **changes)


def _of_union(value: Any, members: tuple[Any, ...], path: str) -> Any:
    for member in members:
        # Compare exact types. `isinstance` would accept True as a whole number, which Avro refuses.
        if type(value) is (typing.get_origin(member) or member):
            return fit(value, member, path)
    names = ", ".join(getattr(member, "__name__", str(member)) for member in members)
    raise EncodeError(f"{path}: {_show(value)} is not one of {names}")


def _check(value: Any, expected: type, path: str) -> None:
    if type(value) is not expected:
        raise EncodeError(f"{path} must be {expected.__name__}, is {_show(value)}")


def _show(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {repr(value)[:100]}"
