"""Events that a signal handler sets."""

from __future__ import annotations

import threading


class Flag(threading.Event):
    """An event that a signal handler may set at any moment.

    A handler runs on the main thread, between two steps of whatever it does: inside of `wait`, or of the handler of
    another signal. An ordinary event's lock would be held then by the thread itself, for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cond = threading.Condition(threading.RLock())
