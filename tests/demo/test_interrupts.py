"""The first Ctrl-C or SIGTERM shuts the demo down in order, and the second one hurries it."""

import signal

import pytest

from forebay.demo.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_stop_then_hurry(number: signal.Signals) -> None:
    with Interrupts() as interrupts:
        signal.raise_signal(number)
        assert (interrupts.stop.is_set(), interrupts.hurry.is_set()) == (True, False)
        signal.raise_signal(number)
        assert interrupts.hurry.is_set()


def test_work_that_never_checks_for_signals_is_interrupted_once() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.breaking_off():
            two_signals()
        assert interrupts.stop.is_set()
        assert interrupts.hurry.is_set()


def two_signals() -> None:
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
