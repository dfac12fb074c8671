"""Errors that may be temporary are retried with one log line. Other errors are raised at once."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable

import pytest

from forebay.codec import Unavailable
from forebay.kafka.errors import KafkaUnavailable, LoginRefused
from forebay.kafka.retrying import keep_trying


class Time:
    """A clock that advances only during pauses, which it records."""

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


def test_a_call_is_retried_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    time = Time()
    assert keep_trying(failing(9, Unavailable("away")), clock=time.clock, pause=time.pause) == "done"
    assert time.pauses == sorted(time.pauses)
    assert max(time.pauses) == 5.0
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["away: retrying", f"recovered after {sum(time.pauses):.1f} s"]


def test_a_call_is_not_retried_after_the_time_limit() -> None:
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
    assert [line.split(" after ")[0] for line in reminders] == ["away: still retrying"] * 2


def test_other_errors_are_raised_at_once() -> None:
    time = Time()
    with pytest.raises(ValueError, match="wrong"):
        keep_trying(failing(1, ValueError("wrong")), clock=time.clock, pause=time.pause)
    assert not time.pauses


def test_success_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert keep_trying(lambda: 5) == 5
    assert not caplog.records


def test_a_refused_login_is_retried_for_its_own_time_only() -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    def refuse() -> None:
        raise LoginRefused("wrong password")

    with pytest.raises(LoginRefused):
        keep_trying(refuse, refused_for=60.0, clock=lambda: now[0], pause=pause)
    assert 60.0 <= now[0] <= 66.0


def test_an_outage_between_refused_logins_restarts_their_time_limit() -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    def fail() -> None:
        raise LoginRefused("wrong password") if now[0] < 50.0 or now[0] > 60.0 else KafkaUnavailable("down")

    with pytest.raises(LoginRefused):
        keep_trying(fail, refused_for=60.0, clock=lambda: now[0], pause=pause)
    assert now[0] > 110.0
