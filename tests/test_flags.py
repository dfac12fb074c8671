"""A flag can be set from a signal handler even while the interrupted thread is using the flag."""

from __future__ import annotations

import signal
import threading

import pytest

from forebay.utils.flags import Flag


@pytest.mark.timeout(30)
def test_a_signal_that_comes_while_the_lock_is_held_sets_it() -> None:
    flag = Flag()
    before = signal.signal(signal.SIGUSR1, lambda *_: flag.set())
    try:
        with flag._cond:
            signal.raise_signal(signal.SIGUSR1)
            assert flag.is_set()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.timeout(30)
def test_waiting_threads_are_woken() -> None:
    flag = Flag()
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(flag.wait(20)))
    thread.start()
    flag.set()
    thread.join(20)
    assert woken == [True]
