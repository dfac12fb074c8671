"""Rates cover the last ten seconds, and start over when a job restarts."""

import pytest

from forebay.demo.figures import Figures
from forebay.demo.history import UNKNOWN, History


def test_a_single_poll_gives_no_rate() -> None:
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


def test_latencies_are_those_that_the_job_reports() -> None:
    history = History()
    history.add(0, Figures(latency_p50_s=0.9))
    history.add(1, Figures(latency_p50_s=0.4, latency_p95_s=0.8))
    assert (history.trend().latency_p50_s, history.trend().latency_p95_s) == (0.4, 0.8)


def test_rates_start_over_after_a_restart() -> None:
    history = History()
    history.add(0, Figures(records_in=5000))
    history.add(1, Figures(records_in=10))
    assert history.trend().in_rate is None
    history.add(2, Figures(records_in=30))
    assert history.trend().in_rate == pytest.approx(20)
