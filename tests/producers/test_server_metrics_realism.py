"""Servers report all their metrics in turn; load follows the day and has peaks that pass the thresholds."""

import statistics
from collections import Counter, defaultdict

import pytest

from forebay.producing.base import FIXED_START_MS, Event, Options
from forebay.producing.sources import generate
from producers.server_metrics import METRICS
from windowed_metrics.model import ServerMetric

HOUR_S = 3600
WINDOW_MS = 300_000


@pytest.fixture(scope="module")
def events() -> list[Event[ServerMetric]]:
    """Return two hours of 30 servers, each measured every 50 seconds."""
    return list(generate("server_metrics", Options(count=6 * HOUR_S, keys=30, event_rate=3)))


def averages(events: list[Event[ServerMetric]]) -> dict[tuple[str, str, int], float]:
    values: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for event in events:
        values[event.key, event.value.metric_name, event.timestamp // WINDOW_MS].append(event.value.value)
    return {window: statistics.fmean(item) for window, item in values.items()}


def test_every_required_field_is_filled(events: list[Event[ServerMetric]]) -> None:
    for event in events:
        assert event.key
        assert event.value.metric_id
        assert event.value.metric_name
        assert event.timestamp == event.value.timestamp
        assert event.value.value >= 0
        assert event.value.unit != "percent" or event.value.value <= 100


def test_each_server_reports_each_metric_equally_often(events: list[Event[ServerMetric]]) -> None:
    counts = Counter((event.key, event.value.metric_name, event.value.unit) for event in events)
    assert len(counts) == 30 * len(METRICS)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_server_stays_where_it_is(events: list[Event[ServerMetric]]) -> None:
    homes = {(event.key, event.value.datacenter, event.value.environment, event.value.service) for event in events}
    assert len(homes) == 30
    assert len({home[1] for home in homes}) >= 3
    assert len({home[3] for home in homes}) >= 3


def test_some_windows_are_above_the_high_and_fewer_above_the_critical_threshold(
    events: list[Event[ServerMetric]],
) -> None:
    result = averages(events)
    for metric in METRICS[:4]:
        high, critical = metric.alerting.threshold_high, metric.alerting.threshold_critical
        assert high is not None
        assert critical is not None
        means = [mean for (_, name, _), mean in result.items() if name == metric.name]
        above = sum(mean >= high for mean in means)
        assert 0.01 * len(means) < above < 0.3 * len(means)
        if metric.name != "disk_usage":
            assert 0 < sum(mean >= critical for mean in means) < above


def test_alerting_is_on_in_production_only_and_never_for_the_request_rate(events: list[Event[ServerMetric]]) -> None:
    for event in events:
        alerting = event.value.alerting
        assert alerting is not None
        expected = event.value.environment == "production" and event.value.metric_name != "request_rate"
        assert alerting.enabled == expected
    assert {event.value.environment for event in events} >= {"production", "staging"}


def test_nights_are_quiet_and_days_are_busy() -> None:
    day = generate("server_metrics", Options(count=24 * HOUR_S, keys=1, event_rate=1))
    cpu = [
        (event.timestamp - FIXED_START_MS, event.value.value) for event in day if event.value.metric_name == "cpu_usage"
    ]
    hours = [[value for at, value in cpu if at // 3_600_000 == hour] for hour in range(24)]
    lows = sorted(min(values) for values in hours)
    assert lows[-1] > 4 * lows[0]


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_handful_of_servers_is_enough(keys: int) -> None:
    assert len({event.key for event in generate("server_metrics", Options(count=500, keys=keys))}) == keys


def test_the_same_options_give_the_same_records_and_another_seed_others() -> None:
    options = Options(count=2000, keys=20, seed=7, out_of_order=0.1, duplicates=0.05, malformed=0.05)
    assert list(generate("server_metrics", options)) == list(generate("server_metrics", options))
    ids = [
        {event.value.metric_id for event in generate("server_metrics", Options(count=500, seed=seed))}
        for seed in (1, 2)
    ]
    assert not ids[0] & ids[1]
