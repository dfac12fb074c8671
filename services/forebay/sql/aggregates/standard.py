"""Aggregates of materialized views, with the null semantics of standard SQL. The sum or average of no values is null.

They accept only finite doubles, because one infinite or NaN value would make the sum of its group unusable for good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType

from forebay.processor.api import RejectedRecord
from forebay.sql.aggregates.numbers import average, total
from forebay.sql.aggregates.registry import AGGREGATES, Aggregate, Argument, Maker
from forebay.sql.exact_sums import finite, grown, round_sum
from forebay.sql.types import BIGINT, DOUBLE, INT
from forebay.sql.values import tuple_of

Doubles = tuple[int, tuple[float, ...]]
"""Number of values, and the doubles that represent their exact sum."""


def _average(arguments: Sequence[Argument]) -> Aggregate:
    outcome = average(arguments)
    if arguments[0].type == DOUBLE:
        return _of_doubles(lambda kept: round_sum(kept[1]) / kept[0] if kept[0] else None)
    result = outcome.result
    return replace(outcome, result=lambda kept: result(kept) if kept[0] else None)


def _total(arguments: Sequence[Argument]) -> Aggregate:
    """Return SUM. A sum of whole numbers that exceeds 64 bits fails when it is encoded."""
    inner = total(arguments)
    if inner.type == DOUBLE:
        return _of_doubles(lambda kept: round_sum(kept[1]) if kept[0] else None)
    add, subtract, merge = inner.add, inner.subtract, inner.merge
    kind = inner.type
    if kind in (INT, BIGINT):
        kind, add, subtract, merge = BIGINT, int.__add__, int.__sub__, int.__add__
    assert subtract is not None
    take = subtract
    return Aggregate(
        kind,
        tuple_of([int, inner.hint]),
        (0, inner.initial),
        lambda kept, x: kept if x is None else (kept[0] + 1, add(kept[1], x)),
        lambda kept: kept[1] if kept[0] else None,
        lambda one, other: (one[0] + other[0], merge(one[1], other[1])),
        lambda kept, x: kept if x is None else (kept[0] - 1, take(kept[1], x)),
    )


def _of_doubles(result: Callable[[Doubles], float | None]) -> Aggregate:
    return Aggregate(
        DOUBLE,
        Doubles,
        (0, ()),
        _add,
        result,
        lambda one, other: (one[0] + other[0], reduce(grown, other[1], one[1])),
        lambda kept, x: kept if x is None else (kept[0] - 1, grown(kept[1], -x)),
    )


def _add(kept: Doubles, x: float | None) -> Doubles:
    """Add a double to a sum. Raises RejectedRecord if the double or the new sum is not finite."""
    if x is None:
        return kept
    try:
        return kept[0] + 1, finite(kept[1], _finite(x))
    except OverflowError:
        raise RejectedRecord(
            f"with {x!r} the sum of {kept[0] + 1} values is beyond what a double holds: "
            "the producer must send smaller numbers"
        ) from None


def _extreme(name: str) -> Maker:
    def make(arguments: Sequence[Argument]) -> Aggregate:
        aggregates = AGGREGATES[name](arguments)
        add = aggregates.add
        return replace(aggregates, add=lambda kept, x: kept if x is None else add(kept, _finite(x)))

    return lambda arguments: make(arguments) if arguments[0].type == DOUBLE else AGGREGATES[name](arguments)


def _finite(x: float) -> float:
    if not math.isfinite(x):
        raise RejectedRecord(f"a value is {x}: the producer must send a finite number")
    return x


STANDARD: Mapping[str, Maker] = MappingProxyType(
    {"AVG": _average, "SUM": _total, "MIN": _extreme("MIN"), "MAX": _extreme("MAX")}
)
