"""Errors of the embedded platform."""

from __future__ import annotations


class PlatformError(Exception):
    """An error of the embedded platform. Its message is one line with the problem, its place and the remedy.

    `log_tail` contains the last lines of the process's log, if a process failed.
    """

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.log_tail = log_tail
