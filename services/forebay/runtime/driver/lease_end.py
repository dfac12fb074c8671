"""How long the driver waits for leases that were told to end."""

from __future__ import annotations

import time
from collections.abc import Callable

UNSENT_SECONDS = 30.0
"""While the job ends or restarts: how long no command may reach the broker. Workers can't see one either, then."""

STOP_SECONDS = 120.0
"""While the job ends or restarts: how long the leases may take with their last commits and snapshots."""

CHANGE_SECONDS = 300.0
"""When other leases follow: a worker that does not reach the broker would hold up the next leases of all groups."""


class LeaseEnd:
    """The end of a query's leases: since when they should end, and when a command last reached the broker."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._since: float | None = None
        self._sent_at = self._heard_at = 0.0
        self._command = self._obeyed = -1

    @property
    def is_expected(self) -> bool:
        """Whether the leases should end."""
        return self._since is not None

    def expect(self) -> None:
        """Note that the leases should end, unless that is noted already."""
        if self._since is None:
            self._since = self._sent_at = self._heard_at = self._monotonic()

    def note_sent(self) -> None:
        """Note that a command has reached the broker."""
        self._sent_at = self._monotonic()

    def observe(self, command: int, planned: int) -> None:
        """Note whether the running leases should end because of a command, perhaps of the process that plans them.

        Args:
            command: until when (ms) leases were planned that the latest command ends; -1: none.
            planned: when (ms) the latest lease that tasks reported was planned; -1: none.
        """
        self._command, self._heard_at = command, self._monotonic()
        if command > self._obeyed and 0 <= planned <= command:
            self.expect()

    def note_silence(self) -> None:
        """Note that the broker has not answered since the last answer: no worker can be blamed for that time."""
        now = self._monotonic()
        if self._since is not None:
            # The wait does not begin again: a broker that fails now and then would make it endless.
            self._since += now - self._heard_at
        self._heard_at = now

    def over(self) -> None:
        """Note that the leases have ended. The next ones may take long to begin: they load their tables."""
        self._since, self._obeyed = None, self._command

    def hindrance(self, *, is_last: bool) -> str:
        """Return why the driver should not wait any longer, or "".

        Args:
            is_last: whether the query ends with these leases.
        """
        if self._since is None:
            return ""
        now = self._monotonic()
        unsent, waited = now - self._sent_at, now - self._since
        if is_last and unsent >= UNSENT_SECONDS:
            return f"the broker has not taken the command to end the leases for {unsent:.0f} s"
        if waited >= (STOP_SECONDS if is_last else CHANGE_SECONDS):
            return f"the leases have not ended within {waited:.0f} s"
        return ""
