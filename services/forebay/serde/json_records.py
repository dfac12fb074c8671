"""Fast reading and checking of JSON objects whose values have exactly the types of a record.

Other objects (with a missing field, a value of another type, a map to check) raise Inexact. The callers then use the
slower path of `json_format`, which converts values if possible and reports what is wrong.
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
"""Converts a JSON value to a type. It raises Inexact, or an error of the record's class."""
Check = Callable[[Any], bool]
"""Returns whether reading the value's JSON would return an equal value."""

_Ways = dict[type[Any], "Reader | None"]
"""Readers of a type by the class of the JSON value. None: the value is used unchanged."""


class Inexact(Exception):
    """A value does not have exactly the type of its field."""


def reader_of(record: type[Any]) -> Reader:
    """Return the reader of JSON objects of a record's class."""
    return _record_reader(record, {})


def check_of(record: type[Any]) -> Check:
    """Return the check of a record's values."""
    return _record_check(record, {})


def _is_plain(record: type[Any]) -> bool:
    """Return whether the class's constructor accepts the fields in order and stores them unchanged."""
    parameters = inspect.signature(record).parameters
    if hasattr(record, "__post_init__") or tuple(parameters) != fields_of(record):
        return False
    if any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters.values()):
        return False
    # `@dataclass` compiles the method from text, unless the class defines one.
    code = getattr(record.__init__, "__code__", None)
    return code is None or code.co_filename == "<string>"


def _record_reader(record: type[Any], known: dict[type[Any], Reader]) -> Reader:
    if record in known:
        return known[record]
    fields: list[tuple[str, _Ways]] = []
    is_plain = _is_plain(record)

    def read(document: Mapping[str, Any]) -> Any:
        if not is_plain or document.__class__ is not dict or len(document) != len(fields):
            raise Inexact
        try:
            values = [_read(ways, document[name]) for name, ways in fields]
        except KeyError:
            raise Inexact from None
        return record(*values)

    # Register the function before its fields, because a record may contain records of its class.
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
            # The first member that accepts a value wins.
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
        return lambda items: tuple([_read(ways, item) for item in items])
    positions = [_ways(hint, known) for hint in arguments]

    def read(items: list[Any]) -> tuple[Any, ...]:
        if len(items) != len(positions):
            raise Inexact
        return tuple([_read(ways, item) for ways, item in zip(positions, items, strict=True)])

    return read


def _map_reader(key: type[Any], ways: _Ways) -> Reader:
    if key is int:
        return lambda document: FrozenMap({int(name): _read(ways, item) for name, item in document.items()})
    return lambda document: FrozenMap({name: _read(ways, item) for name, item in document.items()})


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
    # A map would also have to be sorted by its keys, so maps are always converted.
    return lambda _: False


def _union_check(members: tuple[Any, ...], known: dict[type[Any], Check]) -> Check:
    first, *others = (member for member in members if member is not types.NoneType)
    # With several members, another member could read the text of this value.
    check = _check(first, known) if not others else lambda _: False
    return lambda value: (value is None and types.NoneType in members) or check(value)
