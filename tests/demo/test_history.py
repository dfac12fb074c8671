"""Rates are those of the last ten seconds, quantiles of the last minute; a restarted job begins anew."""

import math

import pytest

from forebay.demo.figures import Figures
from forebay.demo.histogram import Histogram
from forebay.demo.history import UNKNOWN, History


def latencies(*seconds: float) -> Histogram:
    bounds = (0.5, 1.0, math.inf)
    return Histogram(bounds, tuple(float(sum(value <= bound for value in seconds)) for bound in bounds), sum(seconds))


def test_one_look_tells_no_rate() -> None:
    history = History()
    assert history.trend() == UNKNOWN
    assert history.latest is None
    history.add(0, Figures(records_in=10))
    assert history.trend() == UNKNOWN
    assert history.latest == Figures(records_in=10)


def test_rates_over_ten_seconds() -> None:
    history = History()
    for second in range(60):
        fast = max(0, second - 40)
        history.add(second, Figures(records_in=100 * second + 900 * fast, outputs=50 * second))
    assert history.trend().in_rate == pytest.approx(1000)
    assert history.trend().out_rate == pytest.approx(50)


def test_looks_more_than_ten_seconds_apart() -> None:
    history = History()
    history.add(0, Figures())
    history.add(20, Figures(records_in=200))
    assert history.trend().in_rate == pytest.approx(10)


def test_commits_a_second() -> None:
    history = History()
    for second in range(30):
        history.add(second, Figures(commits=max(0, second - 10) * 40))
    assert history.trend().commit_rate == pytest.approx(40)


def test_quantiles_forget_what_was_long_ago() -> None:
    history = History()
    slow = (0.9,) * 10
    history.add(0, Figures(latencies=latencies()))
    history.add(1, Figures(latencies=latencies(*slow)))
    assert history.trend().latency_p50_s == pytest.approx(0.75)
    for second in range(2, 80):
        history.add(second, Figures(latencies=latencies(*slow, *(0.4,) * second)))
    assert history.trend().latency_p50_s == pytest.approx(0.25)


def test_a_restarted_job_begins_anew() -> None:
    history = History()
    history.add(0, Figures(records_in=5000, latencies=latencies(0.9, 0.9)))
    history.add(1, Figures(records_in=10, latencies=latencies(0.9)))
    assert history.trend().in_rate is None
    history.add(2, Figures(records_in=30, latencies=latencies(0.9, 0.4)))
    assert history.trend().in_rate == pytest.approx(20)
    assert history.trend().latency_p50_s == pytest.approx(0.25)
