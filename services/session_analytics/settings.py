"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_MS = 1000
HOUR_MS = 3600 * SECOND_MS


@dataclass(frozen=True, slots=True)
class SessionAnalyticsSettings:
    """The settings of the logic that an operator can change. Times in ms of stream time.

    Args:
        gap_ms: maximum time between two clicks of a session.
        grace_ms: how much longer than the gap a session waits for late clicks before it ends.
        idle_timeout_ms: time after which all open sessions end if the topic is idle, and later clicks of them are
            rejected; 0 = sessions end when the clock passes their gap.
        retention_ms: how long sessions stay in the store after their end; at least gap_ms + grace_ms.
        list_limit: maximum entries of a list in the state (devices, user agents, referrers, categories).

    Raises:
        ValueError: a value is invalid.
    """

    gap_ms: int = 30 * SECOND_MS
    grace_ms: int = 0
    idle_timeout_ms: int = 0
    retention_ms: int = HOUR_MS
    list_limit: int = 100

    def __post_init__(self) -> None:
        for name in ("gap_ms", "list_limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: use 1 or more")
        if self.grace_ms < 0:
            raise ValueError(f"grace_ms is {self.grace_ms}: use 0 or more")
        if self.idle_timeout_ms < 0:
            raise ValueError(f"idle_timeout_ms is {self.idle_timeout_ms}: use 0 (never) or a positive number of ms")
        if self.retention_ms < self.gap_ms + self.grace_ms:
            raise ValueError(
                f"retention_ms is {self.retention_ms}: use at least gap_ms + grace_ms, {self.gap_ms + self.grace_ms}"
            )
