"""A quantile lies in the bucket of its value and increases with its share. Differences cover the time between polls."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.runtime.observability.histogram import Histogram

BOUNDS = (0.1, 0.5, 1.0, math.inf)


def histogram(values: list[float]) -> Histogram:
    counts = tuple(float(sum(value <= bound for value in values)) for bound in BOUNDS)
    return Histogram(BOUNDS, counts, sum(values))


def test_linear_within_the_bucket() -> None:
    assert histogram([0.3] * 10).quantile(0.5) == pytest.approx(0.3)
    assert histogram([0.05] * 50 + [0.7] * 50).quantile(0.75) == pytest.approx(0.75)


def test_a_quantile_beyond_the_last_bound_is_the_last_bound() -> None:
    assert histogram([5.0]).quantile(0.5) == 1.0


def test_nothing_observed() -> None:
    assert Histogram().quantile(0.5) is None
    assert histogram([]).quantile(0.5) is None


def test_since_an_earlier_look() -> None:
    earlier, later = histogram([0.2]), histogram([0.2, 0.8, 0.9])
    assert later.since(earlier).counts == (0, 0, 2, 2)
    assert later.since(earlier).sum == pytest.approx(1.7)


def test_a_restarted_job_starts_counting_from_zero() -> None:
    assert histogram([0.2]).since(histogram([0.2, 0.3])) == histogram([0.2])
    assert histogram([0.2]).since(Histogram()) == histogram([0.2])


@given(st.lists(st.floats(0, 2), min_size=1, max_size=50), st.floats(0.01, 1), st.floats(0.01, 1))
def test_quantiles_lie_in_the_bucket_of_the_value_and_rise(values: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    quantiles = histogram(values)
    smaller, larger = quantiles.quantile(low), quantiles.quantile(high)
    assert smaller is not None
    assert larger is not None
    assert smaller <= larger
    exact = sorted(values)[math.ceil(high * len(values)) - 1]
    bucket = next(index for index, bound in enumerate(BOUNDS) if exact <= bound)
    lower = BOUNDS[bucket - 1] if bucket else 0.0
    upper = BOUNDS[bucket] if math.isfinite(BOUNDS[bucket]) else lower
    assert lower - 1e-9 <= larger <= upper + 1e-9
