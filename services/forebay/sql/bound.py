"""Bound expressions, in which names are positions in a row, calls are functions, and every part has a type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay.sql.printed import SIGNS
from forebay.sql.types import BOOLEAN, NULL, STRING, SqlType

Callables = Mapping[str, Callable[..., Any]]
"""Functions by their names in a template."""


@dataclass(frozen=True, slots=True)
class BoundLiteral:
    """A literal."""

    value: Any
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A part of the key, the row or the window, or a lambda's parameter.

    Args:
        source: Python source that reads it, such as `r[0]`.
        name: Name as written.
    """

    source: str
    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class BoundCall:
    """An operator, a cast or a function with its arguments.

    Args:
        name: Name as written, or "" for a call that the binder adds, such as counting the size of a value.
        template: Python source of the call, in which {0} is the first argument, and {call} the function `call`.
        arguments: The arguments.
        type: Type of the result.
        null: Result if an argument is null, which is None or False.
        strict: Numbers of the arguments that are checked for null.
        functions: Functions that the template uses. They are not compared, because name, arguments and type determine
            them.
        is_limited: Whether a call can take any time or create values of any size, which is counted for each record.
        is_function: Whether it is a call of a named function. If so, an argument that is also a call of a function is
            null if it fails.
        catches: Whether the call is null if it fails. If not, the whole column is null.
    """

    name: str
    template: str
    arguments: tuple[Bound, ...]
    type: SqlType
    null: bool | None = None
    strict: Collection[int] = ()
    functions: Callables = field(default_factory=dict, compare=False)
    is_limited: bool = False
    is_function: bool = False
    catches: bool = False


@dataclass(frozen=True, slots=True)
class BoundLogic:
    """AND or OR. The result is unknown if a side is unknown and the other side does not determine the result.

    Args:
        is_java: Whether null on the left side is the result, as in Java code. The right side is evaluated only if the
            left side does not determine the result.
    """

    name: str
    left: Bound
    right: Bound
    is_java: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class BoundCase:
    """CASE, which has the value of the first condition that is true.

    Args:
        is_java: Whether the result is null if a condition is null, as in Java code.
    """

    whens: tuple[tuple[Bound, Bound], ...]
    default: Bound
    type: SqlType
    is_java: bool


@dataclass(frozen=True, slots=True)
class BoundCoalesce:
    """COALESCE, which has the first value that is not null.

    Args:
        is_java: Whether all values are calculated first, as in Java code. If a value fails, the call fails.
            Otherwise, a value that fails counts as null.
    """

    values: tuple[Bound, ...]
    type: SqlType
    is_java: bool


@dataclass(frozen=True, slots=True)
class BoundNullIf:
    """NULLIF, which is a value, or null if the value equals another one."""

    value: Bound
    other: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundRow:
    """A STRUCT or an ARRAY. A part that fails is null."""

    parts: tuple[Bound, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundMap:
    """A MAP. A part that fails is null."""

    entries: tuple[tuple[Bound, Bound], ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundLambda:
    """A lambda, whose type is that of its body."""

    parameters: tuple[BoundColumn, ...]
    body: Bound

    @property
    def type(self) -> SqlType:
        """Type of the results."""
        return self.body.type


Bound = (
    BoundLiteral
    | BoundColumn
    | BoundCall
    | BoundLogic
    | BoundCase
    | BoundCoalesce
    | BoundNullIf
    | BoundRow
    | BoundMap
    | BoundLambda
)
NOTHING = BoundLiteral(None, NULL)


def is_known(condition: Bound) -> bool:
    """Return whether a condition is never null."""
    match condition:
        case BoundCall("NOT", _, (argument,)):
            return is_known(argument)
        case BoundCall():
            return condition.null is False or condition.name in ("IS NULL", "IS DISTINCT")
        case BoundLogic(_, left, right):
            return is_known(left) and is_known(right)
        case BoundLiteral(value):
            return value is not None
    return False


def to_text(expression: Bound) -> str:
    """Return a bound expression as text, with the types of its columns and results."""
    match expression:
        case BoundLiteral(value, kind):
            return "NULL" if value is None else f"'{value}'" if kind == STRING else str(value).upper()
        case BoundColumn(source, kind, name):
            return f"{name or source}:{kind}"
        case BoundCall():
            return _call_to_text(expression)
        case BoundLogic(name, left, right):
            return f"({to_text(left)} {name} {to_text(right)})"
        case BoundCase(whens, default, kind):
            parts = " ".join(f"WHEN {to_text(when)} THEN {to_text(then)}" for when, then in whens)
            return _with_type(f"CASE {parts} ELSE {to_text(default)} END", kind)
        case BoundCoalesce(values, kind):
            return _with_type(f"COALESCE({_list_of(values)})", kind)
        case BoundNullIf(value, other, kind):
            return _with_type(f"NULLIF({_list_of((value, other))})", kind)
        case BoundRow(values, kind):
            return _with_type(f"({_list_of(values)})", kind)
        case BoundMap(entries, kind):
            pairs = ", ".join(f"{to_text(key)} := {to_text(value)}" for key, value in entries)
            return _with_type(f"MAP({pairs})", kind)
        case BoundLambda(parameters, body):
            return f"({', '.join(map(to_text, parameters))}) => {to_text(body)}"


def _call_to_text(call: BoundCall) -> str:
    match call:
        case BoundCall("", _, (argument,)):
            return to_text(argument)
        case BoundCall("CAST", _, (argument,), kind):
            return f"CAST({to_text(argument)} AS {kind})"
        case BoundCall(name, _, (one, other), kind) if name in SIGNS:
            return _with_type(f"({to_text(one)} {name} {to_text(other)})", kind)
    return _with_type(f"{call.name}({_list_of(call.arguments)})", call.type)


def _with_type(text: str, kind: SqlType) -> str:
    return text if kind == BOOLEAN else f"{text}:{kind}"


def _list_of(expressions: tuple[Bound, ...]) -> str:
    return ", ".join(map(to_text, expressions))
