"""The topics of the running leases, compared with the topics as they are now."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


class LeasedTopics:
    """Decides whether the running leases must end because of their topics.

    Attributes:
        outdated: time (ms) at which the leases that must end were planned; None if none must end.
    """

    def __init__(self, application: str) -> None:
        self._application = application
        self._leased: tuple[int, str] = -1, ""
        self.outdated: int | None = None

    def note(self, planned: int, topics: str) -> None:
        """Record when (ms) the latest lease that tasks have reported was planned, and the digest of its topics."""
        self._leased = planned, topics

    def compare(self, topics: str, *, has_ends: bool) -> None:
        """Compare the running leases' topics with the digest of the present ones. Any thread may call it.

        Args:
            has_ends: whether this driver plans leases with end offsets.
        """
        planned, leased = self._leased
        if not leased or planned == self.outdated:
            return
        if leased != topics:
            reason = "the topics have changed"
        elif has_ends:
            reason = "an earlier run planned the leases without ends"
        else:
            return
        log.info("%s: %s: ending the leases and planning new ones", self._application, reason)
        self.outdated = planned
