"""A call that does not return before its deadline is abandoned."""

from __future__ import annotations

import threading

import pytest

from forebay.runtime.worker.deadline import DeadlineExceeded, leave, within


def test_the_result_of_a_call_in_time_is_returned() -> None:
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


class Waiting:
    """A client whose broker is gone."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def close(self) -> None:
        self.ended.wait()


def test_a_client_that_waits_for_its_broker_is_left(caplog: pytest.LogCaptureFixture) -> None:
    client = Waiting()
    leave(client, 0.01)
    assert "continuing without it" in caplog.text
    client.ended.set()


def test_a_client_s_failure_to_close_is_reported() -> None:
    class Failing:
        def close(self) -> None:
            raise RuntimeError("closed already")

    with pytest.raises(RuntimeError, match="closed already"):
        leave(Failing())
