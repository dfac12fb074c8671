"""Errors that may be temporary are retried with one log line; others are raised at once."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable

import pytest

from forebay.codec import Unavailable
from forebay.kafka.patience import keep_trying


class Time:
    """A clock that advances only when code pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def failing(times: float, error: Exception) -> Callable[[], str]:
    calls = itertools.count()

    def action() -> str:
        if next(calls) < times:
            raise error
        return "done"

    return action


def test_it_is_tried_until_it_works(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    time = Time()
    assert keep_trying(failing(9, Unavailable("away")), clock=time.clock, pause=time.pause) == "done"
    assert time.pauses == sorted(time.pauses)
    assert max(time.pauses) == 5.0
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["away: retrying", f"it works again after {sum(time.pauses):.1f} s"]


def test_it_is_given_up_in_the_end() -> None:
    time = Time()
    with pytest.raises(Unavailable, match="away"):
        keep_trying(failing(float("inf"), Unavailable("away")), 10.0, clock=time.clock, pause=time.pause)
    assert sum(time.pauses) == pytest.approx(10.0)


def test_a_long_wait_logs_its_cause_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    time = Time()
    with pytest.raises(Unavailable):
        keep_trying(failing(float("inf"), Unavailable("away")), 150.0, clock=time.clock, pause=time.pause)
    first, *reminders = [record.getMessage() for record in caplog.records]
    assert first == "away: retrying"
    assert [line.split(",")[0] for line in reminders] == ["away: still trying"] * 2


def test_other_errors_are_raised_at_once() -> None:
    time = Time()
    with pytest.raises(ValueError, match="wrong"):
        keep_trying(failing(1, ValueError("wrong")), clock=time.clock, pause=time.pause)
    assert not time.pauses


def test_success_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert keep_trying(lambda: 5) == 5
    assert not caplog.records
