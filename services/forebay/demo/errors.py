"""Errors of the demo."""

from __future__ import annotations


class DemoError(Exception):
    """The demo can't begin or continue. The message is one line with the reason and the remedy.

    `log_tail` contains the last lines of a process's log, if a process failed.
    """

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.log_tail = log_tail
