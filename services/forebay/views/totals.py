"""Records that are stored with a row if its value is not sufficient to continue: sum and number of values."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from forebay.records import Record
from forebay.sql.aggregates.registry import Aggregate
from forebay.sql.types import DOUBLE


class DoubleTotal(Record):
    """A sum of doubles.

    Args:
        count: number of values.
        sum: doubles whose exact sum is the total, largest first. Each is the double nearest to the remainder.
    """

    count: int
    sum: tuple[float, ...]


class LongTotal(Record):
    """A sum of whole numbers, and their number."""

    count: int
    sum: int


class Stored(NamedTuple):
    """The storage of an aggregate's state.

    Args:
        total: class of a record that is stored with the row; None: the row's value is sufficient.
        extract: returns the aggregate's state from a stored row.
    """

    total: type[Any] | None
    extract: Callable[[Any], Any]


def total_name(column: str) -> str:
    """Return the name of a column's total in a stored row."""
    return f"{column}_total"


def storage_of(aggregate: Aggregate, column: str) -> Stored:
    """Return the storage of the state of an aggregate, whose values are in `column`."""
    total = total_name(column)
    pair = attrgetter(f"{total}.count", f"{total}.sum")
    if aggregate.hint == tuple[int, tuple[float, ...]]:
        return Stored(DoubleTotal, pair)
    if aggregate.hint == tuple[int, int]:
        return Stored(LongTotal, pair) if aggregate.type == DOUBLE else Stored(None, _of_sum(attrgetter(column)))
    return Stored(None, attrgetter(column))


def _of_sum(value_of: Callable[[Any], int | None]) -> Callable[[Any], tuple[int, int]]:
    """Return a function that returns count and sum. Of the count, it only matters whether it is 0."""

    def keep(row: Any) -> tuple[int, int]:
        value = value_of(row)
        return (0, 0) if value is None else (1, value)

    return keep
