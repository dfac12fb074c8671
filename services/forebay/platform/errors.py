"""What can go wrong with the embedded platform, said once, with the remedy."""

from __future__ import annotations


class PlatformError(Exception):
    """The embedded platform can't do what was asked: one line that says what, where and the remedy.

    `log_tail` holds the last lines of the process's log, when a process is what failed.
    """

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.log_tail = log_tail
