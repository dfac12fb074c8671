"""A call that does not return before its deadline is abandoned."""

from __future__ import annotations

import threading

import pytest

from forebay.runtime.worker.deadline import DeadlineExceeded, leave, within


def test_the_result_of_a_call_in_time_is_returned() -> None:
    done: list[int] = []
    within(5.0, lambda: done.append(1))
    assert done == [1]


def test_an_error_raised_by_the_call_is_propagated() -> None:
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 // 0)


def test_a_call_that_exceeds_its_deadline_raises_an_error() -> None:
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


def test_a_client_that_does_not_close_in_time_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
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
