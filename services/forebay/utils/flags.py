"""Events that a signal handler sets."""

from __future__ import annotations

import threading


class Flag(threading.Event):
    """An event that a signal handler may set at any moment.

    A handler runs on the main thread between any two instructions, even within `wait` or another handler. With an
    ordinary event, the handler would then wait forever for a lock that its own thread holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cond = threading.Condition(threading.RLock())
