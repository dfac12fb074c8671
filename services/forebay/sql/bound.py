"""Bound expressions: names are places in a row, calls are functions, every part has its type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay.sql.printed import SIGNS
from forebay.sql.types import BOOLEAN, NULL, STRING, SqlType

Callables = Mapping[str, Callable[..., Any]]
"""Functions by the names that a template has for them."""


@dataclass(frozen=True, slots=True)
class BoundLiteral:
    """A value that is written down."""

    value: Any
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A part of the key, the row or the window, or a lambda's parameter.

    Args:
        source: where it is, as Python: `r[0]`.
        name: as it is written.
    """

    source: str
    type: SqlType
    name: str = ""


@dataclass(frozen=True, slots=True)
class BoundCall:
    """An operator, a cast or a function with its arguments.

    Args:
        name: as it is written; "" for what the binder adds, such as counting what is created.
        template: Python of the call, in which {0} is the first argument, and {call} the function of that name.
        null: the result if an argument is null: None or False.
        strict: the arguments that are tested for that.
        functions: those that the template names. They are not compared, because name, arguments and type decide them.
        is_limited: whether one call may take any time or create any amount, which is counted for each record.
        is_function: whether a function is called by its name, so that the call is null if an argument of it that is a
            call of a function, too, fails.
        catches: whether the call is null if it fails, wherever it is. Otherwise, the whole column is null.
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
    """AND or OR: unknown unless one side decides.

    Args:
        is_java: whether a null on the left is the result, as in Java code, which reads the right side only if the left
            one does not decide.
    """

    name: str
    left: Bound
    right: Bound
    is_java: bool
    type: SqlType = BOOLEAN


@dataclass(frozen=True, slots=True)
class BoundCase:
    """The value of the first condition that is true.

    Args:
        is_java: whether a condition that is null makes the result null, as in Java code.
    """

    whens: tuple[tuple[Bound, Bound], ...]
    default: Bound
    type: SqlType
    is_java: bool


@dataclass(frozen=True, slots=True)
class BoundCoalesce:
    """The first value that is not null and does not fail."""

    values: tuple[Bound, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundNullIf:
    """A value, or null if it equals another."""

    value: Bound
    other: Bound
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundRow:
    """A STRUCT or an ARRAY; a part that fails is null."""

    parts: tuple[Bound, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundMap:
    """A MAP; a part that fails is null."""

    entries: tuple[tuple[Bound, Bound], ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class BoundLambda:
    """A function that is written in place; its type is that of its body."""

    parameters: tuple[BoundColumn, ...]
    body: Bound

    @property
    def type(self) -> SqlType:
        """The type of its results."""
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
