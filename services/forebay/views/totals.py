"""What is kept of the values seen so far, so that an aggregate is right after each without looking at the others.

Sums of doubles are exact: a sum is kept as the few doubles that make it up, so it is the same in whatever order the
values come, and an average of millions is as good as one of two (Shewchuk, "Adaptive Precision Floating-Point
Arithmetic", 1997; `math.fsum` gives the nearest double of such a sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from forebay.processor.api import RejectedRecord
from forebay.records import Record
from forebay.views.model import Aggregate, Function


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


class Accumulator(NamedTuple):
    """How an aggregate is kept.

    Args:
        total: class of what is stored beside the row; None: the row's own value is enough.
        empty: the total (or value) of no records.
        add: gives the total with one more value; null values never get here.
        value: gives the row's value.
    """

    total: type[Any] | None
    empty: Any
    add: Callable[[Any, Any], Any]
    value: Callable[[Any], Any]


def accumulator(aggregate: Aggregate) -> Accumulator:
    """Return an aggregate's accumulator."""
    doubles = aggregate.column is not None and aggregate.column.type is float
    match aggregate.function:
        case Function.COUNT:
            return Accumulator(None, 0, lambda count, _: count + 1, _same)
        case Function.MIN:
            return Accumulator(None, None, lambda least, value: value if least is None else min(least, value), _same)
        case Function.MAX:
            return Accumulator(None, None, lambda most, value: value if most is None else max(most, value), _same)
        case Function.SUM if doubles:
            return Accumulator(DoubleTotal, DoubleTotal(0, ()), add_double, total_of)
        case Function.SUM:
            return Accumulator(None, None, lambda total, value: (total or 0) + value, _same)
        case Function.AVG if doubles:
            return Accumulator(DoubleTotal, DoubleTotal(0, ()), add_double, mean_of)
        case Function.AVG:
            return Accumulator(LongTotal, LongTotal(0, 0), add_long, mean_of_longs)


def grown(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Add a finite double to the few that make up an exact sum, largest first. Raises OverflowError."""
    rest = [*parts, value]
    made = []
    while part := math.fsum(rest):
        made.append(part)
        rest.append(-part)
    return tuple(made)


def add_double(total: DoubleTotal, value: float) -> DoubleTotal:
    """Add a finite double. Raises RejectedRecord if the sum leaves the doubles' range."""
    try:
        parts = grown(total.sum, value)
    except OverflowError:
        raise RejectedRecord(
            f"with {value!r} the sum of {total.count + 1} values is beyond what a double holds: "
            "the producer must send smaller numbers"
        ) from None
    return DoubleTotal(total.count + 1, parts)


def add_long(total: LongTotal, value: int) -> LongTotal:
    """Add a whole number."""
    return LongTotal(total.count + 1, total.sum + value)


def total_of(total: DoubleTotal) -> float | None:
    """Return the double nearest to the sum; None of no values."""
    if not total.count:
        return None
    return total.sum[0] if total.sum else 0.0


def mean_of(total: DoubleTotal) -> float | None:
    """Return the average; None of no values."""
    if not total.count:
        return None
    return total.sum[0] / total.count if total.sum else 0.0


def mean_of_longs(total: LongTotal) -> float | None:
    """Return the average; None of no values."""
    return total.sum / total.count if total.count else None


def _same(value: Any) -> Any:
    return value
