"""Starting Spark does not change the handling of Ctrl-C."""

from __future__ import annotations

import signal

from forebay.runtime.driver.interrupt import kept_interrupt


def test_a_signal_handler_set_inside_is_reverted() -> None:
    before = signal.getsignal(signal.SIGINT)
    with kept_interrupt():
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
