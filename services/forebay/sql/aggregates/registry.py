"""The definition of an aggregate function, and the registry of aggregate functions."""

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
        literal: The value, if the argument is a literal.
    """

    type: SqlType
    literal: Any = None
    is_literal: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of a statement. Its functions are not compared, because name and arguments determine them.

    Args:
        type: Type of the result.
        hint: Python type of the state.
        initial: State before the first row.
        add: Function of the state and the row's arguments that returns the new state. It never changes the state in
            place.
        result: Function of the state that returns the result.
        subtract: As `add`, but removes a row. If it is None, the aggregate can't be used on a table.
        merge: Merges the states of two sessions, of which the earlier one is first.
        columns: Number of arguments that are computed from each row. The others are literals.
        most: Largest number of items of a list, or None if it is not limited.
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
    """Return a decorator that registers the function which creates an aggregate for the arguments of a call.

    The function raises TypeError if the arguments don't fit.
    """

    def declare(make: Maker) -> Maker:
        for name in names.split():
            AGGREGATES[name] = make
        return make

    return declare


def limit_list(made: Aggregate, most: int) -> Aggregate:
    """Return an aggregate of lists that stores only the first `most` items."""

    def cut(step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: step(*arguments)[:most]

    return replace(made, add=cut(made.add), merge=cut(made.merge), most=most)


def same(value: Any) -> Any:
    """Return the state as the result."""
    return value


def literal(arguments: Sequence[Argument], at: int, kind: type[Any], what: str) -> Any:
    """Return the value of a literal argument. Raises TypeError if it is not a literal of type `kind`."""
    if not arguments[at].is_literal or type(arguments[at].literal) is not kind:
        raise TypeError(f"argument {at + 1} must be {what} that is written down")
    return arguments[at].literal
