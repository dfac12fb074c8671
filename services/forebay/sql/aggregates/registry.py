"""What an aggregate consists of, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forebay.sql.functions.registry import ELSEWHERE
from forebay.sql.types import SqlType


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call.

    Args:
        literal: the value, where it is written down.
    """

    type: SqlType
    literal: Any = None
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a statement. Its functions are not compared, because name and arguments decide them.

    Args:
        type: of the result.
        hint: Python type of what is kept.
        initial: what is kept of no rows.
        add: called with what is kept and the row's arguments; gives what is kept then. Never changes it in place.
        result: gives the result of what is kept.
        subtract: takes a row out again; None: can't be computed over a table.
        merge: of two sessions, in order of time.
        columns: how many of the arguments are computed of each row; the others are literals.
        most: how many items of a list are kept; None: all.
    """

    type: SqlType
    hint: Any
    initial: Any
    add: Callable[..., Any] = field(compare=False)
    result: Callable[[Any], Any] = field(compare=False)
    merge: Callable[[Any, Any], Any] = field(compare=False)
    subtract: Callable[..., Any] | None = field(default=None, compare=False)
    columns: int = 1
    most: int | None = None


Maker = Callable[[Sequence[Argument]], Aggregate]

AGGREGATES: dict[str, Maker] = {}
ELSEWHERE.append((AGGREGATES, "an aggregate: write it in a column or in HAVING of a query with GROUP BY"))


def aggregate(names: str) -> Callable[[Maker], Maker]:
    """Declare an aggregate function; it raises TypeError where arguments don't fit."""

    def declare(make: Maker) -> Maker:
        for name in names.split():
            AGGREGATES[name] = make
        return make

    return declare


def limit_list(made: Aggregate, most: int) -> Aggregate:
    """Return an aggregate of lists that keeps so many items at most: the first that came."""

    def cut(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: step(*arguments)[:most]

    return replace(made, add=cut(made.add), merge=cut(made.merge), most=most)


def same(value: Any) -> Any:
    """Return what is kept as the result."""
    return value


def literal(arguments: Sequence[Argument], at: int, kind: type[Any], what: str) -> Any:
    """Return a literal argument. Raises TypeError where it is something else."""
    if not arguments[at].is_literal or type(arguments[at].literal) is not kind:
        raise TypeError(f"argument {at + 1} must be {what} that is written down")
    return arguments[at].literal
