"""After a rescale, state and timers belong to the tasks of their keys."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology
from forebay.stateful import transform_with_state
from tests.dsl.driving import Driven
from tests.dsl.test_rescaling import respread
from tests.stateful.processors import START, Click, Expiring, Reminders, Result

USERS = [f"user-{number}" for number in range(12)]


def build(t: Topology) -> None:
    clicks = t.stream("clicks", Click, timestamp="at")
    transform_with_state(clicks, Expiring, Result, group_by=["user", "page"], time_mode="ProcessingTime").to("states")
    transform_with_state(clicks, Reminders, Result, group_by="user", time_mode="ProcessingTime").to("timers")
    transform_with_state(
        clicks, Reminders, Result, group_by="amount", time_mode="EventTime", watermark_delay_ms=5, name="byEventTime"
    ).to("event-timers")


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 4), (1, 3)])
def test_the_results_are_those_without_a_rescale(before: int, after: int) -> None:
    straight, spread = Driven(build, 1, clock=START), Driven(build, before, clock=START)
    outputs: list[list[Any]] = [[], []]
    for half in range(2):
        for number, user in enumerate(USERS):
            click = Click(user, str(400 + number % 5 * 10), number, START)
            for index, run in enumerate((straight, spread)):
                outputs[index] += run.pipe("clicks", user, click)
        if half == 0:
            spread = respread(spread, build, after, clock=START)
            for index, run in enumerate((straight, spread)):
                outputs[index] += run.idle(300)
    for index, run in enumerate((straight, spread)):
        outputs[index] += run.idle(5_000)
    assert sorted(outputs[1], key=str) == sorted(outputs[0], key=str)
    assert len(outputs[0]) > 3 * 2 * len(USERS)
