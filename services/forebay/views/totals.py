"""Records stored with a row whose own value is not enough to continue from: a sum, and the number of values."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from forebay.records import Record
from forebay.sql.aggregates.registry import Aggregate
from forebay.sql.types import DOUBLE


class DoubleTotal(Record):
    """Doubles added up.

    Args:
        count: how many.
        sum: numbers that make up their exact sum, largest first: each is the double nearest to what is left.
    """

    count: int
    sum: tuple[float, ...]


class LongTotal(Record):
    """Whole numbers added up: how many, and their sum."""

    count: int
    sum: int


class Stored(NamedTuple):
    """How what an aggregate keeps is stored.

    Args:
        total: class of a record stored with the row; None: the row's own value is enough.
        extract: returns what the aggregate keeps of a stored row.
    """

    total: type[Any] | None
    extract: Callable[[Any], Any]


def total_name(column: str) -> str:
    """Return the name of the total of a column in a stored row."""
    return f"{column}_total"


def storage_of(aggregate: Aggregate, column: str) -> Stored:
    """Return how what an aggregate keeps is stored; `column` has its values."""
    total = total_name(column)
    pair = attrgetter(f"{total}.count", f"{total}.sum")
    if aggregate.hint == tuple[int, tuple[float, ...]]:
        return Stored(DoubleTotal, pair)
    if aggregate.hint == tuple[int, int]:
        return Stored(LongTotal, pair) if aggregate.type == DOUBLE else Stored(None, _of_sum(attrgetter(column)))
    return Stored(None, attrgetter(column))


def _of_sum(value_of: Callable[[Any], int | None]) -> Callable[[Any], tuple[int, int]]:
    """Return what gives a count and a sum of whole numbers: only whether there was a value matters of the count."""

    def keep(row: Any) -> tuple[int, int]:
        value = value_of(row)
        return (0, 0) if value is None else (1, value)

    return keep
