"""How often and how soon a query that failed is started again."""

from __future__ import annotations

from forebay.runtime.driver.causes import cause_of, is_out_of_memory
from forebay.runtime.driver.remedies import PASSING

_LONGEST_PAUSE = 30.0
_PATIENCE = 5
_OTHER_CODE = "OtherCodeError"
_LONGEST_PAUSE_UPGRADING = 3.0
"""Executors are replaced one by one: as soon as one has joined, work can continue."""
_PASSES = (
    "Unavailable",
    "GroupFenced",
    "ClientFailed",
    "NotAuthorized",
    "Python worker failed to connect back",
    _OTHER_CODE,
    *PASSING,
)
"""What a broker or registry says that is down or refuses us, Spark (after 10 s) on a busy machine, executors of another
release, a full volume."""

_SIZE_HINT = "If commits are too large: smaller --max-records-per-commit or --max-bytes-per-commit, or more memory"


class RetriesExhausted(Exception):
    """A query failed too often without progress; the message says why."""


class Retries:
    """The failures of a query since its last progress."""

    def __init__(self) -> None:
        self._pause, self._failures = 1.0, 0

    def next_pause(self, failure: str, *, has_progressed: bool) -> float:
        """Return the seconds until the query starts again.

        Args:
            failure: all of the failure's text.
            has_progressed: whether the query made progress before it failed.

        Raises:
            RetriesExhausted: it failed too often, and a retry alone does not help.
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
