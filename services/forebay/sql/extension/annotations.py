"""SQL types of a function's parameters and result, from its annotations."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import inspect
import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from forebay.sql.errors import SqlError
from forebay.sql.extension.conversion import (
    DAYS,
    INSTANTS,
    TIMES,
    Conversion,
    array_of,
    conversion_of,
    map_of,
    struct_of,
)
from forebay.sql.reader import Reader
from forebay.sql.tokens import tokens_of
from forebay.sql.types import BIGINT, BOOLEAN, BYTES, DOUBLE, STRING, DecimalType

ANY_DECIMAL = DecimalType(0, 0)
"""Type of a parameter that accepts a DECIMAL of any precision."""
_PLAIN: dict[Any, Conversion] = {
    **{
        hint: conversion_of(kind)
        for hint, kind in {int: BIGINT, float: DOUBLE, str: STRING, bool: BOOLEAN, bytes: BYTES}.items()
    },
    Decimal: Conversion(ANY_DECIMAL),
    datetime.date: DAYS,
    datetime.time: TIMES,
    datetime.datetime: INSTANTS,
    Any: Conversion(None),
}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Iterator)
_MAPS = (dict, collections.abc.Mapping)
_KNOWN = (
    "write int, float, str, bool, bytes, date, time, datetime, Decimal, list[...], dict[..., ...], a dataclass, or "
    "Annotated[int, 'INTEGER'] with any type of SQL"
)


class Parameter(NamedTuple):
    """A parameter of a function.

    Args:
        takes_null: Whether the function is called with None for it. If not, the result is null for a null argument.
        is_optional: Whether the argument may be omitted.
        is_repeated: Whether it accepts any number of arguments.
    """

    name: str
    conversion: Conversion
    takes_null: bool
    is_optional: bool = False
    is_repeated: bool = False


class Annotated(NamedTuple):
    """The parameters and the result that a function's annotations declare."""

    parameters: tuple[Parameter, ...]
    result: Conversion


def annotations_of(function: Callable[..., Any], skip: int = 0, *, returns: bool = True) -> Annotated:
    """Return the parameters and the result that a function's annotations declare.

    Args:
        function: The function.
        skip: Number of its first parameters that are not passed from SQL, such as `self`.
        returns: Whether the annotation of the result is required.

    Raises:
        TypeError: An annotation is missing or can't be a type of SQL.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # an annotation may raise anything
        raise TypeError(f"its annotations can't be read: {error}") from error
    named = list(inspect.signature(function).parameters.values())[skip:]
    parameters = tuple(_parameter(parameter, hints) for parameter in named)
    if not returns:
        return Annotated(parameters, Conversion(None))
    if "return" not in hints:
        raise TypeError(f"nothing says what it returns: annotate it, such as def {function.__name__}(...) -> str")
    result, _ = _nullable(hints["return"], "the result")
    return Annotated(parameters, result)


def result_of(annotated: Annotated) -> Conversion:
    """Return the conversion of a result. Raises TypeError if its type is not complete."""
    if annotated.result.type is None:
        raise TypeError(f"the result has the type Any: {_KNOWN}")
    if annotated.result.type == ANY_DECIMAL:
        raise TypeError("the result has no number of digits: write Annotated[Decimal, 'DECIMAL(10, 2)']")
    return annotated.result


def _parameter(given: inspect.Parameter, hints: dict[str, Any]) -> Parameter:
    if given.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
        raise TypeError(f"SQL passes no arguments by name: take {given.name} by position")
    if given.name not in hints:
        raise TypeError(f"the parameter {given.name} has no type: annotate it, such as {given.name}: str")
    conversion, takes_null = _nullable(hints[given.name], f"the parameter {given.name}")
    has_default = given.default is not inspect.Parameter.empty
    is_repeated = given.kind is inspect.Parameter.VAR_POSITIONAL
    return Parameter(given.name, conversion, takes_null, has_default, is_repeated)


def _nullable(hint: Any, what: str) -> tuple[Conversion, bool]:
    """Return the conversion for an annotation, and whether it allows None. Raises TypeError."""
    try:
        inner, is_null = without_none(hint)
        return _conversion(inner), is_null or inner is Any
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from error


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return an annotation without None, and whether it contained None. Raises TypeError for other unions."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    others = [branch for branch in typing.get_args(hint) if branch is not type(None)]
    if len(others) != 1:
        raise TypeError(f"{hint} is of several types: {_KNOWN}")
    return others[0], True


def _conversion(hint: Any) -> Conversion:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _written(hint)
    if origin in _LISTS and (len(arguments) == 1 or arguments[1:] == (...,)):
        return array_of(_part(arguments[0]))
    if origin in _MAPS:
        return map_of(_part(arguments[0]), _part(arguments[1]))
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")):
        parts = typing.get_type_hints(hint, include_extras=True)
        names = hint._fields if hasattr(hint, "_fields") else [field.name for field in dataclasses.fields(hint)]
        return struct_of([(name.upper(), name, _part(parts[name])) for name in names], hint, _attribute(hint))
    raise TypeError(f"{_name(hint)} is not a type of SQL: {_KNOWN}")


def _part(hint: Any) -> Conversion:
    conversion = _conversion(without_none(hint)[0])
    if conversion.type == ANY_DECIMAL:
        raise TypeError("a Decimal in another type has no number of digits: write Annotated[Decimal, 'DECIMAL(10, 2)']")
    return conversion


def _written(hint: Any) -> Conversion:
    """Return the conversion of `Annotated[..., 'a type of SQL']`. Raises TypeError."""
    inner, *extras = typing.get_args(hint)
    text = next((extra for extra in extras if isinstance(extra, str)), None)
    if text is None:
        return _conversion(inner)
    try:
        read = Reader(text, tokens_of(text))
        kind = read.type()
        if read.token.kind != "end":
            read.fail("a type alone")
    except SqlError as error:
        raise TypeError(f"{text!r} is not a type of SQL: {error.reason}") from error
    same = _PLAIN.get(inner)
    return same if same is not None and same.type == kind else conversion_of(kind)


def _attribute(kind: type[Any]) -> Callable[[Any, str], Any]:
    def field_of(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
        return getattr(value, name)

    return field_of


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
