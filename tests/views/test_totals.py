"""Totals are exact whatever the order, and give SQL's results."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.processor import RejectedRecord
from forebay.views.model import Aggregate, Column, Function
from forebay.views.totals import DoubleTotal, accumulator, add_double, mean_of, total_of

EMPTY = DoubleTotal(0, ())
doubles = st.lists(st.floats(-1e300, 1e300, allow_nan=False), max_size=40)


def total(values: list[float]) -> DoubleTotal:
    return reduce(add_double, values, EMPTY)


def folded(function: Function, column: Column | None, values: list[Any]) -> Any:
    how = accumulator(Aggregate("x", function, column))
    return how.value(reduce(how.add, values, how.empty))


@given(doubles)
def test_the_sum_is_exact(values: list[float]) -> None:
    found = total(values)
    exact = sum(map(Fraction, values), Fraction(0))
    assert sum(map(Fraction, found.sum), Fraction(0)) == exact
    assert found.count == len(values)
    assert total_of(found) == (float(exact) if values else None)
    assert mean_of(found) == (float(exact) / len(values) if values else None)


@given(doubles, st.integers())
def test_the_order_leaves_no_trace(values: list[float], seed: int) -> None:
    shuffled = list(values)
    Random(seed).shuffle(shuffled)
    assert total(shuffled) == total(values)


def test_parts_are_few_and_the_largest_comes_first() -> None:
    random = Random(1)
    found = total([round(random.uniform(-200, 200), 2) for _ in range(20_000)])
    assert len(found.sum) <= 3
    assert list(found.sum) == sorted(found.sum, key=abs, reverse=True)


def test_what_cancels_out_is_gone() -> None:
    assert total([1e16, 1.0, -1e16, -1.0]) == DoubleTotal(4, ())
    assert total_of(total([0.5, -0.5])) == 0.0
    assert mean_of(total([0.5, -0.5])) == 0.0


def test_small_numbers_beside_large_ones_count() -> None:
    assert mean_of(total([1e16, *[1.0] * 9, -1e16])) == 9 / 11


def test_a_sum_beyond_the_doubles_is_refused() -> None:
    with pytest.raises(RejectedRecord, match=r"with 1e\+308 the sum of 2 values is beyond what a double holds"):
        total([1.7e308, 1e308])


@pytest.mark.parametrize(
    ("function", "kind", "values", "wanted"),
    [
        (Function.AVG, float, [1.0, 2.5], 1.75),
        (Function.AVG, int, [1, 2], 1.5),
        (Function.AVG, int, [2**62, 2**62], float(2**62)),
        (Function.SUM, float, [0.1] * 10, 1.0),
        (Function.SUM, int, [2**53, 1], 2**53 + 1),
        (Function.COUNT, str, ["a", "a"], 2),
        (Function.MIN, float, [2.0, -1.0, 3.0], -1.0),
        (Function.MAX, str, ["a", "c", "b"], "c"),
        (Function.AVG, float, [], None),
        (Function.AVG, int, [], None),
        (Function.SUM, float, [], None),
        (Function.SUM, int, [], None),
        (Function.COUNT, str, [], 0),
        (Function.MIN, float, [], None),
        (Function.MAX, int, [], None),
    ],
)
def test_functions(function: Function, kind: type, values: list[Any], wanted: Any) -> None:
    found = folded(function, Column("x", kind), values)
    assert found == wanted
    assert type(found) is type(wanted)


@given(doubles.filter(bool))
def test_an_average_is_between_the_least_and_the_largest(values: list[float]) -> None:
    mean = mean_of(total(values))
    assert mean is not None
    assert min(values) <= mean <= max(values) or math.isclose(mean, min(values)) or math.isclose(mean, max(values))
