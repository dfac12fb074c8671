"""Counts, sums, averages, extremes and statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from forebay.sql import arithmetic
from forebay.sql.aggregates.registry import Aggregate, Argument, aggregate, same
from forebay.sql.exact_sums import grown, round_sum
from forebay.sql.order import rank_bytes
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    NULL,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
    is_number,
)
from forebay.sql.values import hint_of


@aggregate("COUNT")
def count(arguments: Sequence[Argument]) -> Aggregate:
    """Return COUNT(*), the number of rows, or COUNT(x), the number of values that are not null."""
    if not arguments:
        return Aggregate(
            BIGINT, int, 0, lambda n: n + 1, same, lambda one, other: one + other, lambda n: n - 1, columns=0
        )
    one = len(arguments) == 1
    return Aggregate(
        BIGINT,
        int,
        0,
        lambda n, *x: n + (x[0] is not None or not one),
        same,
        lambda left, right: left + right,
        lambda n, *x: n - (x[0] is not None or not one),
        columns=len(arguments),
    )


def _number(arguments: Sequence[Argument], name: str) -> SqlType:
    if len(arguments) != 1 or not is_number(arguments[0].type):
        given = ", ".join(str(argument.type) for argument in arguments)
        raise TypeError(f"{name}({given}) does not exist: write {name}(a number)")
    return arguments[0].type


@aggregate("SUM")
def total(arguments: Sequence[Argument]) -> Aggregate:
    """Return SUM. It is exact, and sums of doubles do not depend on the order of rows."""
    kind = _number(arguments, "SUM")
    if kind == DOUBLE:
        return _exact(round_sum)
    plus, minus = _of_kind(kind)
    return Aggregate(
        kind,
        Decimal if isinstance(kind, DecimalType) else int,
        Decimal(0).scaleb(-kind.scale) if isinstance(kind, DecimalType) else 0,
        lambda kept, x: kept if x is None else plus(kept, x),
        same,
        plus,
        lambda kept, x: kept if x is None else minus(kept, x),
    )


def _of_kind(kind: SqlType) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    if isinstance(kind, DecimalType):
        precision, scale = kind.precision, kind.scale
        return (
            lambda one, other: arithmetic.decimal_of(arithmetic.decimal_sum(one, other), precision, scale),
            lambda one, other: arithmetic.decimal_of(arithmetic.decimal_difference(one, other), precision, scale),
        )
    wrap = arithmetic.wrapped_int if kind == INT else arithmetic.wrapped_long
    return (lambda one, other: wrap(one + other)), (lambda one, other: wrap(one - other))


def _exact(result: Callable[[tuple[float, ...]], float]) -> Aggregate:
    return Aggregate(
        DOUBLE,
        tuple[float, ...],
        (),
        lambda state, x: state if x is None else grown(state, x),
        result,
        _grown_by,
        lambda state, x: state if x is None else grown(state, -x),
    )


def _grown_by(state: tuple[float, ...], others: Sequence[float]) -> tuple[float, ...]:
    for other in others:
        state = grown(state, other)
    return state


@aggregate("SUM_LIST")
def total_of_lists(arguments: Sequence[Argument]) -> Aggregate:
    """Return SUM_LIST, the sum of the numbers in arrays."""
    kind = arguments[0].type
    if len(arguments) != 1 or not isinstance(kind, ArrayType) or kind.item not in (INT, BIGINT, DOUBLE):
        raise TypeError("write SUM_LIST(an ARRAY of INTEGER, BIGINT or DOUBLE)")
    inner = total([Argument(kind.item)])

    def each(step: Callable[..., Any]) -> Callable[..., Any]:
        def make(state: Any, values: Any) -> Any:
            for value in values or ():
                state = step(state, value)
            return state

        return make

    assert inner.subtract is not None
    return Aggregate(
        kind.item, inner.hint, inner.initial, each(inner.add), inner.result, inner.merge, each(inner.subtract)
    )


@aggregate("AVG")
def average(arguments: Sequence[Argument]) -> Aggregate:
    """Return AVG, the exact sum divided by the count. As in ksqlDB, it is 0 if there are no values."""
    kind = _number(arguments, "AVG")
    doubles = kind == DOUBLE

    is_decimal = isinstance(kind, DecimalType)

    negative = arithmetic.decimal_negative if is_decimal else int.__neg__

    def together(one: Any, other: Any) -> Any:
        return arithmetic.decimal_sum(one, other) if is_decimal else one + other

    def add(kept: Any, x: Any, sign: int = 1) -> Any:
        if x is None:
            return kept
        return kept[0] + sign, (
            grown(kept[1], sign * x) if doubles else together(kept[1], x if sign > 0 else negative(x))
        )

    def merge(one: Any, other: Any) -> Any:
        return one[0] + other[0], (_grown_by(one[1], other[1]) if doubles else together(one[1], other[1]))

    def result(kept: Any) -> float:
        n, summed = kept
        return float((round_sum(summed) if doubles else summed) / n) if n else 0.0

    sums: Any = tuple[float, ...] if doubles else Decimal if isinstance(kind, DecimalType) else int
    empty: Any = () if doubles else Decimal(0) if isinstance(kind, DecimalType) else 0
    return Aggregate(DOUBLE, tuple[int, sums], (0, empty), add, result, merge, lambda kept, x: add(kept, x, -1))


def _extreme(name: str, better: Callable[..., Any]) -> None:
    def make(arguments: Sequence[Argument]) -> Aggregate:
        kind = arguments[0].type if len(arguments) == 1 else NULL
        if kind in (NULL, BOOLEAN) or isinstance(kind, ArrayType | MapType | StructType):
            given = ", ".join(str(argument.type) for argument in arguments)
            raise TypeError(f"{name}({given}) does not exist: write {name}(a number, text, date or time)")

        choose = _DOUBLES[name] if kind == DOUBLE else partial(better, key=rank_bytes) if kind == BYTES else better

        def add(kept: Any, x: Any) -> Any:
            return kept if x is None else x if kept is None else choose(kept, x)

        return Aggregate(kind, hint_of(kind), None, add, same, add)

    aggregate(name)(make)


_DOUBLES: dict[str, Callable[[float, float], float]] = {
    # `Double.compare` sorts NaN above infinity. Python's `min` and `max` depend on the order of the arguments instead.
    "MIN": lambda kept, x: x if x < kept or kept != kept else kept,  # noqa: PLR0124
    "MAX": lambda kept, x: x if x > kept or x != x else kept,  # noqa: PLR0124
}
"""Extremes of doubles, of which NaN is the largest. The result does not depend on the order of rows."""
_extreme("MIN", min)
_extreme("MAX", max)


@aggregate("STDDEV_SAMPLE")
def deviation(arguments: Sequence[Argument]) -> Aggregate:
    """Return STDDEV_SAMPLE, the sample standard deviation (Youngs and Cramer, 1971), or 0 for fewer than two values."""
    result = variance(arguments)
    return replace(result, result=lambda kept: math.sqrt(result.result(kept)))


@aggregate("STDDEV_SAMP")
def variance(arguments: Sequence[Argument]) -> Aggregate:
    """Return STDDEV_SAMP, which is the square of STDDEV_SAMPLE in ksqlDB."""
    _number(arguments, "STDDEV_SAMP")

    def add(kept: Any, x: Any) -> Any:
        if x is None:
            return kept
        n, summed = kept[0] + 1, kept[1] + float(x)
        # The update of Youngs and Cramer is numerically stable. Subtracting the square of the sum from the sum of
        # squares would cancel all digits of large values.
        step = n * float(x) - summed
        return n, summed, kept[2] + (step * step / (n * (n - 1)) if n > 1 else 0.0)

    def subtract(kept: Any, x: Any) -> Any:
        if x is None:
            return kept
        n, summed = kept[0] - 1, kept[1] - float(x)
        step = kept[0] * float(x) - kept[1]
        return n, summed, kept[2] - (step * step / (kept[0] * n) if n > 0 else kept[2])

    def merge(one: Any, other: Any) -> Any:
        # An empty side has no mean, and the formula divides by its count.
        if not one[0] or not other[0]:
            return one if one[0] else other
        n = one[0] + other[0]
        apart = other[1] / other[0] - one[1] / one[0]
        return n, one[1] + other[1], one[2] + other[2] + apart * apart * one[0] * other[0] / n

    def result(kept: Any) -> float:
        # After rows are subtracted, rounding errors can leave a small negative value, but a variance is never negative.
        return max(0.0, kept[2]) / (kept[0] - 1) if kept[0] > 1 else 0.0

    return Aggregate(DOUBLE, tuple[int, float, float], (0, 0.0, 0.0), add, result, merge, subtract)


@aggregate("CORRELATION")
def correlation(arguments: Sequence[Argument]) -> Aggregate:
    """Return CORRELATION, Pearson's coefficient of the pairs without null, or NaN if it is not defined."""
    if len(arguments) != 2 or not all(is_number(argument.type) for argument in arguments):
        raise TypeError("write CORRELATION(a number, a number)")

    def add(kept: Any, x: Any, y: Any, sign: int = 1) -> Any:
        if x is None or y is None:
            return kept
        x, y = float(x), float(y)
        result = (x, y, x * y, x * x, y * y)
        return kept[0] + sign, *(grown(part, sign * item) for part, item in zip(kept[1:], result, strict=True))

    def merge(one: Any, other: Any) -> Any:
        return one[0] + other[0], *(_grown_by(a, b) for a, b in zip(one[1:], other[1:], strict=True))

    def result(kept: Any) -> float:
        n = kept[0]
        x, y, xy, xx, yy = (round_sum(part) for part in kept[1:])
        below = math.sqrt(max(0.0, n * xx - x * x)) * math.sqrt(max(0.0, n * yy - y * y))
        return (n * xy - x * y) / below if below else math.nan

    parts = tuple[float, ...]
    return Aggregate(
        DOUBLE,
        tuple[int, parts, parts, parts, parts, parts],
        (0, (), (), (), (), ()),
        add,
        result,
        merge,
        lambda kept, x, y: add(kept, x, y, -1),
        columns=2,
    )
