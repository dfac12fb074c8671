"""Decides how often and how soon a failed query is restarted."""

from __future__ import annotations

from forebay.runtime.driver.causes import cause_of, is_out_of_memory
from forebay.runtime.driver.remedies import PASSING

_LONGEST_PAUSE = 30.0
_PATIENCE = 5
_OTHER_CODE = "OtherCodeError"
_LONGEST_PAUSE_UPGRADING = 3.0
"""Short, because executors are replaced one by one, and work can continue as soon as one has joined."""
_PASSES = (
    "Unavailable",
    "GroupFenced",
    "ClientFailed",
    "NotAuthorized",
    "Python worker failed to connect back",
    _OTHER_CODE,
    *PASSING,
)
"""Signs of failures that end without a restart of the job: a broker or registry is down or refuses the login, a busy
machine delays a worker (Spark waits 10 s), executors are of another release, or a volume is full."""

_SIZE_HINT = "If commits are too large: smaller --max-records-per-commit or --max-bytes-per-commit, or more memory"


class RetriesExhausted(Exception):
    """A query failed too often without progress. The message contains the cause."""


class Retries:
    """The failures of a query since its last progress."""

    def __init__(self) -> None:
        self._pause, self._failures = 1.0, 0

    def next_pause(self, failure: str, *, has_progressed: bool) -> float:
        """Return the seconds until the query starts again.

        Args:
            failure: the complete text of the failure.
            has_progressed: whether the query made progress before it failed.

        Raises:
            RetriesExhausted: the query failed too often, and retries alone do not help.
        """
        if has_progressed:
            self._pause, self._failures = 1.0, 0
        self._failures += 1
        # An outage may last for hours, and ending the job would not shorten it. Other failures don't pass by
        # themselves.
        if self._failures > _PATIENCE and not any(sign in failure for sign in _PASSES):
            hint = f". {_SIZE_HINT}" if is_out_of_memory(failure) else ""
            raise RetriesExhausted(f"the job failed {self._failures} times without progress: {cause_of(failure)}{hint}")
        pause = min(self._pause, _LONGEST_PAUSE_UPGRADING) if _OTHER_CODE in failure else self._pause
        self._pause = min(pause * 2, _LONGEST_PAUSE)
        return pause
