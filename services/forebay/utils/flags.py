"""Events that a signal handler sets."""

from __future__ import annotations

import threading


class Flag(threading.Event):
    """An event that a signal handler may set at any moment.

    A handler runs on the main thread, between any two steps: inside of `wait`, or of the handler of another signal. The
    thread itself would then hold an ordinary event's lock forever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cond = threading.Condition(threading.RLock())
