"""The status depends on the window's average and the newest event's thresholds."""

import pytest

from tests.windowed_metrics.harness import driver, pipe
from windowed_metrics.model import Alerting, AlertState, Thresholds


@pytest.mark.parametrize(
    ("value", "status"),
    [(79.999, "normal"), (80.0, "warning"), (94.999, "warning"), (95.0, "critical"), (500.0, "critical")],
)
def test_average_equal_to_the_threshold_reaches_it(value: float, status: str) -> None:
    assert pipe(driver(), 0, value).alerting == AlertState(status, Thresholds(80.0, 95.0), round(value, 2))


def test_the_average_decides_not_the_last_value() -> None:
    task = driver()
    pipe(task, 0, 100.0)
    alerting = pipe(task, 1, 61.0).alerting
    assert (alerting.status, alerting.current_average) == ("warning", 80.5)
    assert pipe(task, 2, 0.0).alerting.status == "normal"


def test_the_average_is_compared_before_it_is_rounded() -> None:
    alerting = pipe(driver(), 0, 79.996).alerting
    assert (alerting.status, alerting.current_average) == ("normal", 80.0)


@pytest.mark.parametrize(
    ("alerting", "thresholds"),
    [
        (Alerting(False, 80.0, 95.0), Thresholds(80.0, 95.0)),
        (Alerting(True), Thresholds(None, None)),
        (None, Thresholds(None, None)),
    ],
)
def test_without_alerting_every_average_is_normal(alerting: Alerting | None, thresholds: Thresholds) -> None:
    assert pipe(driver(), 0, 99.0, alerting=alerting).alerting == AlertState("normal", thresholds, 99.0)


@pytest.mark.parametrize(
    ("alerting", "statuses"),
    [
        (Alerting(True, 80.0, None), ["normal", "warning", "warning"]),
        (Alerting(True, None, 95.0), ["normal", "normal", "critical"]),
    ],
)
def test_single_threshold_is_enough(alerting: Alerting, statuses: list[str]) -> None:
    task = driver()
    results = [
        pipe(task, 0, value, name, alerting=alerting).alerting.status
        for name, value in (("a", 79.0), ("b", 94.0), ("c", 95.0))
    ]
    assert results == statuses


def test_the_newest_event_sets_the_thresholds() -> None:
    task = driver()
    pipe(task, 10, 90.0, alerting=Alerting(True, 80.0, 95.0))
    assert pipe(task, 20, 90.0, alerting=Alerting(True, 91.0, 95.0)).alerting.status == "normal"
    older = pipe(task, 15, 90.0, alerting=Alerting(True, 1.0, 2.0))
    assert older.alerting == AlertState("normal", Thresholds(91.0, 95.0), 90.0)
    assert pipe(task, 30, 90.0, alerting=None).alerting == AlertState("normal", Thresholds(None, None), 90.0)
