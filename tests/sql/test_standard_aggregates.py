"""Aggregates of views have the results of standard SQL, and their sums of doubles are exact in any order."""

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
from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.aggregates.registry import Aggregate, Argument
from forebay.sql.aggregates.standard import STANDARD
from forebay.sql.types import BIGINT, DOUBLE, INT, STRING, ArrayType, DecimalType, SqlType

doubles = st.lists(st.floats(-1e300, 1e300, allow_nan=False), max_size=40)


def aggregate(name: str, kind: SqlType = DOUBLE) -> Aggregate:
    return STANDARD.get(name, AGGREGATES[name])([Argument(kind)])


def fold(values: list[Any], name: str = "AVG", kind: SqlType = DOUBLE) -> Any:
    how = aggregate(name, kind)
    return reduce(how.add, values, how.initial)


def aggregate_result(name: str, kind: SqlType, values: list[Any]) -> Any:
    return aggregate(name, kind).result(fold(values, name, kind))


@given(doubles)
def test_the_sum_is_exact(values: list[float]) -> None:
    count, parts = fold(values)
    exact = sum(map(Fraction, values), Fraction(0))
    assert sum(map(Fraction, parts), Fraction(0)) == exact
    assert count == len(values)
    assert aggregate_result("SUM", DOUBLE, values) == (float(exact) if values else None)
    assert aggregate_result("AVG", DOUBLE, values) == (float(exact) / len(values) if values else None)


@given(doubles, st.integers())
def test_sum_does_not_depend_on_the_order(values: list[float], seed: int) -> None:
    shuffled = list(values)
    Random(seed).shuffle(shuffled)
    assert fold(shuffled) == fold(values)


def test_parts_are_few_and_the_largest_comes_first() -> None:
    random = Random(1)
    _, parts = fold([round(random.uniform(-200, 200), 2) for _ in range(20_000)])
    assert len(parts) <= 3
    assert list(parts) == sorted(parts, key=abs, reverse=True)


def test_values_that_cancel_out_leave_an_empty_sum() -> None:
    assert fold([1e16, 1.0, -1e16, -1.0]) == (4, ())
    assert aggregate_result("SUM", DOUBLE, [0.5, -0.5]) == 0.0
    assert aggregate_result("AVG", DOUBLE, [0.5, -0.5]) == 0.0


def test_small_numbers_are_not_lost_next_to_large_ones() -> None:
    assert aggregate_result("AVG", DOUBLE, [1e16, *[1.0] * 9, -1e16]) == 9 / 11


@pytest.mark.parametrize("name", ["AVG", "SUM"])
def test_sum_beyond_the_range_of_double_is_refused(name: str) -> None:
    with pytest.raises(RejectedRecord, match=r"with 1e\+308 the sum of 2 values is beyond what a double holds"):
        fold([1.7e308, 1e308], name)


@pytest.mark.parametrize("name", ["AVG", "SUM", "MIN", "MAX"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(name: str, value: float) -> None:
    with pytest.raises(RejectedRecord, match=f"a value is {value}: the producer must send a finite number"):
        fold([1.0, value], name)


@pytest.mark.parametrize(
    ("name", "kind", "values", "wanted"),
    [
        ("AVG", DOUBLE, [1.0, 2.5], 1.75),
        ("AVG", BIGINT, [1, 2], 1.5),
        ("AVG", BIGINT, [2**62, 2**62], float(2**62)),
        ("SUM", DOUBLE, [0.1] * 10, 1.0),
        ("SUM", BIGINT, [2**53, None, 1], 2**53 + 1),
        ("SUM", INT, [2**31 - 1, 1], 2**31),
        ("COUNT", STRING, ["a", None, "a"], 2),
        ("MIN", DOUBLE, [2.0, -1.0, 3.0], -1.0),
        ("MAX", STRING, ["a", "c", None, "b"], "c"),
        ("AVG", DOUBLE, [], None),
        ("AVG", BIGINT, [None], None),
        ("SUM", DOUBLE, [None], None),
        ("SUM", BIGINT, [], None),
        ("SUM", DecimalType(4, 2), [], None),
        ("COUNT", STRING, [None], 0),
        ("MIN", DOUBLE, [None], None),
        ("MAX", BIGINT, [], None),
    ],
)
def test_functions(name: str, kind: SqlType, values: list[Any], wanted: Any) -> None:
    result = aggregate_result(name, kind, values)
    assert result == wanted
    assert type(result) is type(wanted)


@pytest.mark.parametrize(("name", "kind"), [("AVG", DOUBLE), ("SUM", DOUBLE), ("SUM", BIGINT), ("AVG", INT)])
def test_subtracting_an_added_value_restores_the_aggregate(name: str, kind: SqlType) -> None:
    how = aggregate(name, kind)
    assert how.subtract is not None
    assert how.subtract(how.add(how.initial, 7), 7) == how.initial
    assert how.subtract(how.initial, None) == how.initial
    assert how.merge(how.add(how.initial, 3), how.add(how.initial, 7)) == reduce(how.add, [3, 7], how.initial)


@given(doubles.filter(bool))
def test_an_average_is_between_the_least_and_the_largest(values: list[float]) -> None:
    mean = aggregate_result("AVG", DOUBLE, values)
    assert min(values) <= mean <= max(values) or math.isclose(mean, min(values)) or math.isclose(mean, max(values))


@pytest.mark.parametrize(
    ("kind", "values", "number"),
    [
        (DOUBLE, [math.nan, float("nan"), 1.0, -math.nan], 2),
        (DOUBLE, [0.0, -0.0, 0.0, -0.0], 2),
        (ArrayType(DOUBLE), [(math.nan,), (float("nan"),)], 1),
        (STRING, ["a", "b", "a"], 2),
        (BIGINT, [1, 2, 1], 2),
    ],
)
def test_a_set_has_each_value_once_as_java_compares(kind: SqlType, values: list[Any], number: int) -> None:
    assert len(fold(values, "COLLECT_SET", kind)) == number
    assert aggregate_result("COUNT_DISTINCT", kind, values) == number
    how = aggregate("COLLECT_SET", kind)
    assert how.merge is not None
    assert len(how.merge(fold(values, "COLLECT_SET", kind), fold(values[:2], "COLLECT_SET", kind))) == number
