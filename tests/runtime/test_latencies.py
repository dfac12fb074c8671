"""Latency quantiles cover the last minute, so that older slow records do not distort them."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from forebay.runtime.observability.latencies import LAST_MINUTE, NAME, Latencies
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def figures_with(ms: int, count: int) -> TaskFigures:
    counts = [0] * (len(LATENCY_MS) + 1)
    counts[LATENCY_MS.index(ms)] = count
    return TaskFigures(0, 0, latencies=counts, latency_ms=ms * count)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def latencies(clock: Clock) -> Latencies:
    return Latencies("sums", clock)


def test_there_is_no_quantile_without_latencies(latencies: Latencies) -> None:
    assert latencies.last_minute().quantile(0.5) is None


def test_earlier_slow_records_are_forgotten_after_a_minute(clock: Clock, latencies: Latencies) -> None:
    latencies.add(figures_with(2_000, 1_000))
    assert latencies.last_minute().quantile(0.5) == pytest.approx(1.5)
    for _ in range(58):
        clock.now += 1
        latencies.add(figures_with(200, 1))
    assert latencies.last_minute().count == 1_058
    for _ in range(4):
        clock.now += 1
        latencies.add(figures_with(200, 1))
    assert latencies.last_minute().count == 61, "those of the last 60 s, and of the step at their beginning"
    assert latencies.last_minute().quantile(0.95) == pytest.approx(0.1975)


def test_after_a_silence_only_what_comes_then_counts(clock: Clock, latencies: Latencies) -> None:
    latencies.add(figures_with(2_000, 1_000))
    clock.now = 300
    assert latencies.last_minute().count == 0
    latencies.add(figures_with(100, 7))
    assert latencies.last_minute().count == 7


def test_the_metrics_page_has_the_total_and_the_last_minute(clock: Clock, latencies: Latencies) -> None:
    registry = CollectorRegistry()
    registry.register(latencies)
    latencies.add(figures_with(2_000, 10))
    clock.now = 100
    latencies.add(figures_with(200, 10))
    assert registry.get_sample_value(f"{NAME}_count", {"service": "sums"}) == 20
    assert registry.get_sample_value(LAST_MINUTE, {"service": "sums", "quantile": "0.5"}) == pytest.approx(0.175)
