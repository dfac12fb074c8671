"""A call is waited for only so long."""

from __future__ import annotations

import threading

import pytest

from forebay.runtime.worker.deadline import DeadlineExceeded, within


def test_a_call_in_time_is_waited_for() -> None:
    done: list[int] = []
    within(5.0, lambda: done.append(1))
    assert done == [1]


def test_its_own_failure_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 // 0)


def test_a_call_that_does_not_come_back_is_given_up() -> None:
    never = threading.Event()
    with pytest.raises(DeadlineExceeded):
        within(0.01, never.wait)
    never.set()
