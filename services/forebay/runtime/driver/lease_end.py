"""How long the driver waits for leases that a command ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from forebay.runtime.errors import LeasesEnded

UNSENT_SECONDS = 30.0
"""How long no command may reach the broker while the job ends or restarts. Workers then see no command, either."""

STOP_SECONDS = 120.0
"""How long the leases may take with their last commits and snapshots while the job ends or restarts."""

CHANGE_SECONDS = 300.0
"""How long the leases may take if others follow, because a worker without a broker delays the leases of all groups."""


def ended_by_another(application: str, driver: str) -> LeasesEnded:
    """Return the error of a run with end offsets whose leases another driver has ended.

    Args:
        driver: name of the other driver; "": unknown.
    """
    return LeasesEnded(
        f"{driver or 'another driver'} has ended the leases of {application} before this run had read everything: an "
        "application runs with one driver at a time. Stop the other driver and start this job again: it resumes where "
        "it stopped, and nothing is lost"
    )


class LeaseEnd:
    """The end of a query's leases: since when they should end, and when a command last reached the broker.

    Args:
        ended: leases that were planned until this time (ms) count as ended; -1: unknown.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, ended: int = -1) -> None:
        self._monotonic = monotonic
        self._since: float | None = None
        self._is_asked = self._are_late = False
        self._sent_at = self._looked_at = self._late_seconds = 0.0
        # Leases of an earlier driver are ended when the query of this driver starts, and must not count as late.
        self._ended = self._latest = ended

    @property
    def is_expected(self) -> bool:
        """Whether the leases should end."""
        return self._since is not None

    def expect(self) -> None:
        """Record that this driver ends the leases, unless that is recorded already."""
        self._is_asked = True
        self._begin()

    def _begin(self) -> None:
        if self._since is None:
            self._since = self._sent_at = self._monotonic()

    def note_sent(self) -> None:
        """Record that a command has reached the broker."""
        self._sent_at = self._monotonic()

    def observe(self, command: int, planned: int, begun: int) -> None:
        """Record whether the running leases should end because of a command, perhaps of another driver.

        Args:
            command: time (ms) of the latest command, which ends leases that were planned until then; -1: none.
            planned: time (ms) at which the latest lease that any task has reported was planned; -1: none.
            begun: time (ms) at which the latest leases that all tasks have reported were planned; -1: none.
        """
        now = self._monotonic()
        self._latest = max(self._latest, command, planned)
        # Leases that are about to begin may load their tables for longer than the driver should wait for their end.
        if self._ended < begun == planned <= command:
            if self._are_late:
                self._late_seconds += now - self._looked_at
            self._are_late = True
            self._begin()
        else:
            self._are_late, self._late_seconds = False, 0.0
            if not self._is_asked:
                self._since = None
        self._looked_at = now

    def note_silence(self) -> None:
        """Record that the broker has not answered, so that no worker is blamed for the time since its last answer."""
        self._looked_at = self._monotonic()

    def over(self) -> None:
        """Record that all leases planned so far have ended."""
        self._since, self._ended = None, self._latest
        self._is_asked = self._are_late = False
        self._late_seconds = 0.0

    def hindrance(self, *, is_last: bool) -> str:
        """Return why the driver should not wait any longer, or "".

        Args:
            is_last: whether the query ends with these leases.
        """
        if self._since is None:
            return ""
        now = self._monotonic()
        unsent = now - self._sent_at
        if is_last and unsent >= UNSENT_SECONDS:
            return f"the broker has not taken the command to end the leases for {unsent:.0f} s"
        # If other leases follow, only the time in which the broker answers counts. While it does not, no worker is to
        # blame.
        waited, most = (now - self._since, STOP_SECONDS) if is_last else (self._late_seconds, CHANGE_SECONDS)
        return f"the leases have not ended within {waited:.0f} s" if waited >= most else ""
