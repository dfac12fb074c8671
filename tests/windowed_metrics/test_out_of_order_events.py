"""An older event counts, but moves neither last_timestamp backwards nor first_timestamp forwards."""

from tests.windowed_metrics.harness import START, driver, pipe, states


def test_an_older_event_counts_but_does_not_move_the_last_timestamp() -> None:
    task = driver()
    pipe(task, 1000, 10.0)
    assert pipe(task, 400, 20.0).statistics.count == 2
    state = states(task)["s1", "cpu_usage", 0]
    assert (state.first_timestamp, state.last_timestamp) == (START + 400, START + 1000)


def test_a_newer_event_does_not_move_the_first_timestamp() -> None:
    task = driver()
    pipe(task, 400)
    pipe(task, 1000)
    state = states(task)["s1", "cpu_usage", 0]
    assert (state.first_timestamp, state.last_timestamp) == (START + 400, START + 1000)


def test_the_unit_is_the_newest_events() -> None:
    task = driver()
    pipe(task, 1000, unit="percent")
    assert pipe(task, 400, unit="ratio").unit == "percent"
    assert pipe(task, 1000, unit="ratio").unit == "ratio"
    assert pipe(task, 1001, unit=None).unit is None


def test_the_latest_id_is_that_of_the_event_processed_last() -> None:
    task = driver()
    pipe(task, 1000, metric_id="m-1")
    assert pipe(task, 400, metric_id="m-2").processing_info.latest_metric_id == "m-2"


def test_an_older_event_opens_a_window_before_the_newest() -> None:
    task = driver()
    pipe(task, 300_000)
    assert pipe(task, 299_999).window.start_timestamp == START
