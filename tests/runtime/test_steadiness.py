"""A job runs steadily if the same processes ran all its tasks for an interval."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from forebay.runtime.driver.steadiness import Steadiness
from forebay.runtime.task.statistics import TaskFigures


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def reports(at: int, workers: tuple[int, ...] = (7, 8)) -> list[TaskFigures]:
    return [TaskFigures(0, task, at=at, worker=worker) for task, worker in enumerate(workers)]


@pytest.mark.parametrize(
    ("later", "trouble", "expected"),
    [
        (reports(2), "", True),
        (reports(2), "the broker is away", False),
        (reports(1), "", False),
        (reports(2, (7, 9)), "", False),
        (reports(2, (7,)), "", False),
        ([], "", False),
    ],
)
def test_it_is_steady_if_all_tasks_still_report_from_the_same_processes(
    later: list[TaskFigures], trouble: str, *, expected: bool
) -> None:
    clock = Clock()
    steadiness = Steadiness(30.0, clock)
    clock.now = 30.0
    assert not steadiness.observe(reports(1), "")
    clock.now = 59.0
    assert not steadiness.observe(reports(2), ""), "the interval is not over"
    clock.now = 60.0
    assert steadiness.observe(later, trouble) == expected


def test_it_is_steady_once_an_interval() -> None:
    clock = Clock()
    steadiness = Steadiness(30.0, clock)
    times = []
    for second in range(200):
        clock.now = float(second)
        if steadiness.observe(reports(second), ""):
            times.append(second)
    assert times == [60, 90, 120, 150, 180]
