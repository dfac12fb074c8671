"""What can go wrong with the demo."""

from __future__ import annotations


class DemoError(Exception):
    """The demo can't begin or continue: one line that says why and what to do.

    `log_tail` holds the last lines of a process's log, when a process is what failed.
    """

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.log_tail = log_tail
