"""Records, which may contain only immutable values, so that a stored row can change only through a put."""

from __future__ import annotations

import dataclasses
import types
import typing
from decimal import Decimal
from typing import Any, NoReturn, TypeVar, dataclass_transform

import msgspec

K = TypeVar("K")
V = TypeVar("V")

_SCALARS = (str, int, float, bool, bytes, Decimal, type(None))
_DEFAULTS: dict[type[Any], frozenset[str]] = {}


@dataclass_transform(frozen_default=True)
class Record(msgspec.Struct, frozen=True):
    """Base class of records. Declare the fields with their types and, optionally, defaults.

    Records are immutable and hashable. Two records are equal if all their fields are equal. `replace` returns a changed
    copy. Native code creates, copies and compares records.
    """


replace = msgspec.structs.replace
"""Return a copy of a record with changed fields, which are passed by keyword."""


class FrozenMap(dict[K, V]):
    """An immutable dict. `with_item` and `without` return changed copies."""

    __slots__ = ()

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a FrozenMap can't be changed: use with_item() or without()")

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def with_item(self, key: K, value: V) -> FrozenMap[K, V]:
        """Return a copy in which `key` maps to `value`."""
        return FrozenMap({**self, key: value})

    def without(self, key: K) -> FrozenMap[K, V]:
        """Return a copy without `key`."""
        return FrozenMap({k: v for k, v in self.items() if k != key})


def is_record_type(hint: Any) -> bool:
    """Return whether a type is a class of records: a subclass of Record, or a dataclass."""
    return isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or dataclasses.is_dataclass(hint))


def fields_of(record_type: type) -> tuple[str, ...]:
    """Return the names of a record type's fields, in order; () for other types."""
    if issubclass(record_type, msgspec.Struct):
        return record_type.__struct_fields__
    return tuple(getattr(record_type, "__dataclass_fields__", ()))


def defaults_of(record_type: type[Any]) -> frozenset[str]:
    """Return the names of a record type's fields that have a default."""
    if record_type not in _DEFAULTS:
        _DEFAULTS[record_type] = _defaults_of(record_type)
    return _DEFAULTS[record_type]


def _defaults_of(record_type: type[Any]) -> frozenset[str]:
    if issubclass(record_type, msgspec.Struct):
        return frozenset(field.name for field in msgspec.structs.fields(record_type) if not field.required)
    without = (dataclasses.MISSING, dataclasses.MISSING)
    return frozenset(
        field.name for field in dataclasses.fields(record_type) if (field.default, field.default_factory) != without
    )


def as_dict(record: Any) -> dict[str, Any]:
    """Return a record as a dict of its fields. Nested records become dicts, too."""
    return {name: _plain_value(getattr(record, name)) for name in fields_of(type(record))}


def _plain_value(value: Any) -> Any:
    if is_record_type(type(value)):
        return as_dict(value)
    if isinstance(value, FrozenMap):
        return {key: _plain_value(item) for key, item in value.items()}
    return tuple(map(_plain_value, value)) if isinstance(value, tuple) else value


def check_record_type(record_type: type) -> None:
    """Check that the instances of a record type are immutable.

    Raises:
        TypeError: The type is neither a Record nor a frozen dataclass, or the type of a field is mutable. The message
            names the class and the field.
    """
    if not _is_frozen(record_type):
        raise TypeError(
            f"{record_type.__name__} must be a frozen dataclass or, better, a record: "
            f"class {record_type.__name__}(forebay.records.Record)"
        )
    hints = typing.get_type_hints(record_type)
    for name in fields_of(record_type):
        if not _immutable(hints[name]):
            raise TypeError(
                f"{record_type.__name__}.{name}: {hints[name]} can be changed in place; "
                "use tuple[...] for lists and FrozenMap[...] for maps"
            )


def _is_frozen(record_type: type) -> bool:
    if not is_record_type(record_type):
        return False
    if issubclass(record_type, msgspec.Struct):
        return record_type.__struct_config__.frozen
    return bool(record_type.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def _immutable(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return all(_immutable(arg) for arg in typing.get_args(hint))
    if origin is tuple:
        return all(arg is Ellipsis or _immutable(arg) for arg in typing.get_args(hint))
    if origin is FrozenMap:
        return all(_immutable(arg) for arg in typing.get_args(hint))
    if hint in _SCALARS:
        return True
    if is_record_type(hint):
        check_record_type(hint)
        return True
    return False
