"""Decorators that register Python functions and classes as SQL functions."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.errors import Place, SqlError
from forebay.sql.exploding import TABLE_FUNCTIONS
from forebay.sql.extension.aggregates import aggregate_of
from forebay.sql.extension.annotations import annotations_of, result_of
from forebay.sql.extension.calls import ScalarFunction
from forebay.sql.extension.failures import Failures
from forebay.sql.functions.loaded import MODULES
from forebay.sql.functions.registry import SIGNATURES, SPECIAL
from forebay.sql.tokens import RESERVED
from forebay.sql.types import ArrayType

F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_WORDS = RESERVED | {"CAST", "CASE", "STRUCT", "MAP", "ARRAY", "NULL", "TRUE", "FALSE", "NOT", "INTERVAL"}
_BUILT_IN = (SIGNATURES, SPECIAL, AGGREGATES, TABLE_FUNCTIONS)
assert MODULES  # the functions of the library are declared before any other


@dataclass(frozen=True, slots=True)
class Declared:
    """A user-defined function.

    Args:
        kind: scalar, table or aggregate.
        call: Signature as text.
        result: Type of its result.
        text: Its docstring.
        place: File and line of its definition.
        identity: Module and name of the Python function. If a function with this identity is defined again, it replaces
            the former definition.
    """

    name: str
    kind: str
    call: str
    result: str
    text: str
    place: Place
    identity: tuple[str, str]


DECLARED: dict[str, Declared] = {}
"""User-defined functions by name."""


@overload
def scalar_function(function: F, /) -> F: ...
@overload
def scalar_function(*, name: str = "") -> Callable[[F], F]: ...
def scalar_function(function: Any = None, /, *, name: str = "") -> Any:
    """Register a Python function as a scalar SQL function, which returns one value.

    Args:
        function: The function. Its annotations determine the SQL types.
        name: Name in SQL. The default is the name of the Python function in upper case.

    Raises:
        SqlError: An annotation is missing or has no SQL type, or the name is in use.
    """
    return _decorator(function, name, "scalar")


@overload
def table_function(function: F, /) -> F: ...
@overload
def table_function(*, name: str = "") -> Callable[[F], F]: ...
def table_function(function: Any = None, /, *, name: str = "") -> Any:
    """Register a Python function that returns or yields several values as a table function of SQL.

    Each value becomes a row.

    Args:
        function: The function. Its annotations determine the SQL types.
        name: Name in SQL. The default is the name of the Python function in upper case.

    Raises:
        SqlError: As `scalar_function`, or the result is annotated as neither a list nor an iterator.
    """
    return _decorator(function, name, "table")


@overload
def aggregate_function(kind: F, /) -> F: ...
@overload
def aggregate_function(*, name: str = "") -> Callable[[F], F]: ...
def aggregate_function(kind: Any = None, /, *, name: str = "") -> Any:
    """Register a class as an aggregate function of SQL.

    The class has the methods `initialize()`, `aggregate(state, value, ...)` and `merge(one, other)`, which return a
    state. The optional method `map(state)` returns the result. By default, the result is the state. The optional method
    `undo(state, value, ...)` returns the state without a value. It is needed to aggregate a table. Literals that follow
    the values in a call are passed to `__init__`.

    Args:
        kind: The class.
        name: Name in SQL. The default is the name of the class in upper case.

    Raises:
        SqlError: A method or an annotation is missing, an annotation has no SQL type, or the name is in use.
    """
    return _decorator(kind, name, "aggregate")


def _decorator(target: Any, name: str, kind: str) -> Any:
    def declare(given: Any) -> Any:
        _declare(given, name, kind)
        return given

    return declare if target is None else declare(target)


def _declare(target: Any, given: str, kind: str) -> None:
    name, place = (given or target.__name__).upper(), place_of(target)
    identity = (target.__module__, target.__qualname__)
    _check_name(name, place, identity)
    failures = Failures(name, str(place))
    try:
        if kind == "aggregate":
            function = aggregate_of(target, failures)
            AGGREGATES[name] = function.of
            call, result = function.call(name), str(function.result.type)
        else:
            annotated = annotations_of(target)
            conversion = result_of(annotated)
            if kind == "table" and not isinstance(conversion.type, ArrayType):
                raise TypeError("a table function returns several values: annotate it, such as -> list[str]")
            scalar = ScalarFunction(name, target, annotated.parameters, conversion, failures)
            (SPECIAL if kind == "scalar" else TABLE_FUNCTIONS)[name] = scalar.apply
            shown = (
                conversion.type.item if kind == "table" and isinstance(conversion.type, ArrayType) else conversion.type
            )
            call, result = scalar.call, str(shown)
    except TypeError as error:
        raise SqlError(place, f"the function {name} can't be called from SQL: {error}") from error
    DECLARED[name] = Declared(name, kind, call, result, inspect.getdoc(target) or "", place, identity)


def _check_name(name: str, place: Place, identity: tuple[str, str]) -> None:
    """Raise SqlError for an invalid name, or if another function has this name."""
    if not _NAME.fullmatch(name):
        raise SqlError(place, f"{name} is not a name of a function: write name='...' with letters, digits and _")
    former = DECLARED.get(name)
    if former is not None and former.identity != identity:
        raise SqlError(
            place, f"the function {name} is defined at {former.place} already: write another name, or name='...'"
        )
    if former is not None:
        remove(name)
    elif name in _WORDS or any(name in functions for functions in _BUILT_IN):
        raise SqlError(place, f"{name} is a function or word of SQL itself: write another name, or name='...'")


def remove(name: str) -> None:
    """Remove a user-defined function."""
    del DECLARED[name]
    for functions in _BUILT_IN:
        functions.pop(name, None)


def place_of(target: Any) -> Place:
    """Return the file and line where a function or class is defined."""
    try:
        file, (_, line) = inspect.getsourcefile(target) or "", inspect.getsourcelines(target)
    except (OSError, TypeError):
        return Place(str(target.__module__))
    near = os.path.relpath(file)
    return Place(file if near.startswith(os.pardir) else near, line)
