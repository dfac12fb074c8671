"""Reads and checks JSON objects of a record's exact types, quickly.

What is not exact (a missing field, a value of another type, a map to check) raises Inexact. The callers then take the
longer way through `json_format`, which converts what may be converted and says what is wrong.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from forebay.records import FrozenMap, fields_of, is_record_type

Reader = Callable[[Any], Any]
"""Returns a value of JSON as the type's; raises Inexact, or what the record's class raises."""
Check = Callable[[Any], bool]
"""Returns whether a value is already what reading its JSON would return."""

_Ways = dict[type[Any], "Reader | None"]
"""How a type reads values of JSON, by their class; None: unchanged."""


class Inexact(Exception):
    """A value does not have exactly the type of its field."""


def reader_of(record: type[Any]) -> Reader:
    """Return the reader of JSON objects of a record's class."""
    return _record_reader(record, {})


def check_of(record: type[Any]) -> Check:
    """Return the check of a record's values."""
    return _record_check(record, {})


def _is_plain(record: type[Any]) -> bool:
    """Return whether a record's fields are what its class is called with, in order, and are kept unchanged."""
    parameters = inspect.signature(record).parameters
    if hasattr(record, "__post_init__") or tuple(parameters) != fields_of(record):
        return False
    if any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters.values()):
        return False
    # `@dataclass` compiles the method from text, but keeps one that the class defines.
    code = getattr(record.__init__, "__code__", None)
    return code is None or code.co_filename == "<string>"


def _record_reader(record: type[Any], known: dict[type[Any], Reader]) -> Reader:
    if record in known:
        return known[record]
    fields: list[tuple[str, _Ways]] = []
    is_plain = _is_plain(record)

    def read(found: Mapping[str, Any]) -> Any:
        if not is_plain or found.__class__ is not dict or len(found) != len(fields):
            raise Inexact
        try:
            values = [_read(ways, found[name]) for name, ways in fields]
        except KeyError:
            raise Inexact from None
        return record(*values)

    # A record may hold others of its class.
    known[record] = read
    hints = typing.get_type_hints(record)
    fields += [(name, _ways(hints[name], known)) for name in fields_of(record)]
    return read


def _read(ways: _Ways, value: Any) -> Any:
    way = ways[value.__class__]
    return value if way is None else way(value)


def _ways(hint: Any, known: dict[type[Any], Reader]) -> _Ways:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        ways: _Ways = {}
        for member in arguments:
            # The first member that takes a value wins.
            ways = {**_ways(member, known), **ways}
        return ways
    if origin is tuple:
        return {list: _items_reader(arguments, known)}
    if origin is FrozenMap:
        return {dict: _map_reader(arguments[0], _ways(arguments[1], known))}
    if is_record_type(hint):
        return {dict: _record_reader(hint, known)}
    if hint is float:
        return {float: None, int: float}
    return {hint: None} if hint in (str, int, bool, types.NoneType) else {}


def _items_reader(arguments: tuple[Any, ...], known: dict[type[Any], Reader]) -> Reader:
    if arguments[1:] == (...,):
        ways = _ways(arguments[0], known)
        return lambda found: tuple([_read(ways, item) for item in found])
    positions = [_ways(hint, known) for hint in arguments]

    def read(found: list[Any]) -> tuple[Any, ...]:
        if len(found) != len(positions):
            raise Inexact
        return tuple([_read(ways, item) for ways, item in zip(positions, found, strict=True)])

    return read


def _map_reader(key: type[Any], ways: _Ways) -> Reader:
    if key is int:
        return lambda found: FrozenMap({int(name): _read(ways, item) for name, item in found.items()})
    return lambda found: FrozenMap({name: _read(ways, item) for name, item in found.items()})


def _record_check(record: type[Any], known: dict[type[Any], Check]) -> Check:
    if record in known:
        return known[record]
    fields: list[tuple[str, Check]] = []
    is_plain = _is_plain(record)

    def is_exact(value: Any) -> bool:
        return is_plain and value.__class__ is record and all(check(getattr(value, name)) for name, check in fields)

    known[record] = is_exact
    hints = typing.get_type_hints(record)
    fields += [(name, _check(hints[name], known)) for name in fields_of(record)]
    return is_exact


def _check(hint: Any, known: dict[type[Any], Check]) -> Check:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union_check(arguments, known)
    if origin is tuple and arguments[1:] == (...,):
        check = _check(arguments[0], known)
        return lambda value: value.__class__ is tuple and all(check(item) for item in value)
    if is_record_type(hint):
        return _record_check(hint, known)
    if hint is float:
        return lambda value: value.__class__ is float and math.isfinite(value)
    if hint in (str, int, bool, types.NoneType):
        return lambda value: value.__class__ is hint
    # A map would have to be in the order of its keys.
    return lambda _: False


def _union_check(members: tuple[Any, ...], known: dict[type[Any], Check]) -> Check:
    first, *others = (member for member in members if member is not types.NoneType)
    # Another member could read the text of this one's value.
    check = _check(first, known) if not others else lambda _: False
    return lambda value: (value is None and types.NoneType in members) or check(value)
