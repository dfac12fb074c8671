"""Count, sum, average, minimum, maximum and range of a window are correct, and only results are rounded."""

import pytest

from tests.windowed_metrics.harness import MINUTE, START, driver, metric, pipe, states
from windowed_metrics.model import Distribution, ProcessingInfo, Sampling, Statistics


def test_one_result_per_event_with_the_statistics_so_far() -> None:
    task = driver()
    assert pipe(task, 0, 10.0).statistics == Statistics(1, 10.0, 10.0, 10.0, 10.0, 0.0)
    assert pipe(task, 1, 40.0).statistics == Statistics(2, 25.0, 10.0, 40.0, 50.0, 30.0)
    assert pipe(task, 2, -5.5).statistics == Statistics(3, 14.83, -5.5, 40.0, 44.5, 45.5)


def test_results_are_rounded_to_two_decimals_and_the_state_is_not() -> None:
    task = driver()
    pipe(task, 0, 1.006)
    statistics = pipe(task, 1, 2.0049).statistics
    assert statistics == Statistics(2, 1.51, 1.01, 2.0, 3.01, 1.0)
    state = states(task)["s1", "cpu_usage", 0]
    assert (state.sum, state.minimum, state.maximum) == (1.006 + 2.0049, 1.006, 2.0049)


def test_many_small_values_keep_their_sum() -> None:
    task = driver(engine={"dedupe_retention_ms": 0})
    outputs = task.run_batch([("s1", metric(at, 0.004)) for at in range(1000)])
    assert outputs[-1].value.statistics == Statistics(1000, 0.0, 0.0, 0.0, 4.0, 0.0)


def test_the_timestamp_of_a_result_is_the_largest_of_the_window() -> None:
    task = driver()
    times = [task.pipe("s1", metric(at))[0].timestamp - START for at in (3000, 5000, 4000)]
    assert times == [3000, 5000, 4000]


def test_result_contains_the_fields_of_the_event() -> None:
    result = pipe(driver(), 0, 50.0, "response_time", unit="ms", metric_id="m-1")
    assert (result.aggregation_type, result.server_id, result.metric_name) == (
        "WINDOW_AGGREGATION",
        "s1",
        "response_time",
    )
    assert result.unit == "ms"
    assert result.distribution == Distribution(("eu-west",), ("production",), ("web",))
    assert result.processing_info == ProcessingInfo(True, False, "m-1", START)


def test_distribution_lists_each_origin_once_in_order_of_first_appearance() -> None:
    task = driver()
    pipe(task, 0, datacenter="b", environment="production", service="web")
    pipe(task, 1, datacenter="a", environment="staging", service="api")
    result = pipe(task, 2, datacenter="b", environment="production", service="web")
    assert result.distribution == Distribution(("b", "a"), ("production", "staging"), ("web", "api"))


@pytest.mark.parametrize("missing", [None, ""])
def test_missing_origins_are_not_counted(missing: str | None) -> None:
    result = pipe(driver(), 0, datacenter=missing, environment=missing, service=missing)
    assert result.distribution == Distribution((), (), ())


def test_recent_values_are_the_last_three_as_they_came() -> None:
    task = driver()
    samplings = [pipe(task, 10 - at, at + 0.125).sampling for at in range(5)]
    assert samplings[0] == Sampling((0.125,), 1)
    assert samplings[-1] == Sampling((2.125, 3.125, 4.125), 5)


def test_processing_time_is_stream_time_so_that_a_replay_gives_the_same_bytes() -> None:
    task = driver()
    task.pipe("s2", metric(2 * MINUTE))
    assert pipe(task, MINUTE).processing_info.processing_timestamp == START + 2 * MINUTE
