"""What a record may hold: immutable values only, so that a table never changes behind a put."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SCALARS = (str, int, float, bool, bytes, Decimal, type(None))


class FrozenMap(dict[K, V]):
    """A dict that refuses changes; `with_item` and `without` give changed copies."""

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
        """Give a copy in which `key` maps to `value`."""
        return FrozenMap({**self, key: value})

    def without(self, key: K) -> FrozenMap[K, V]:
        """Give a copy without `key`."""
        return FrozenMap({k: v for k, v in self.items() if k != key})


def check_record_type(record_type: type) -> None:
    """Refuse a record type whose instances could be changed in place.

    Raises:
        TypeError: not a frozen dataclass, or a field that is not immutable; names class and field.
    """
    if not (dataclasses.is_dataclass(record_type) and record_type.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise TypeError(f"{record_type.__name__} must be a frozen dataclass: @dataclass(frozen=True, slots=True)")
    hints = typing.get_type_hints(record_type)
    for field in dataclasses.fields(record_type):
        if not _immutable(hints[field.name]):
            raise TypeError(
                f"{record_type.__name__}.{field.name}: {hints[field.name]} can be changed in place; "
                "use tuple[...] for lists and FrozenMap[...] for maps"
            )


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
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        check_record_type(hint)
        return True
    return False


def freeze_map(mapping: Mapping[K, V]) -> FrozenMap[K, V]:
    """Give `mapping` as a FrozenMap, without a copy if it is one."""
    return mapping if isinstance(mapping, FrozenMap) else FrozenMap(mapping)
