"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class UserSessionsSettings:
    """What an operator may change about the logic.

    Args:
        idle_timeout_ms: a session ends after this long without activity, in ms of stream time; 0 = never.
        list_limit: most entries a list or map of the state holds (devices, browsers, countries, actions, pages).

    Raises:
        ValueError: a value that makes no sense; names it.
    """

    idle_timeout_ms: int = 30 * MINUTE_MS
    list_limit: int = 100

    def __post_init__(self) -> None:
        if self.idle_timeout_ms < 0:
            raise ValueError(f"idle_timeout_ms is {self.idle_timeout_ms}: use 0 (never) or a positive number of ms")
        if self.list_limit < 1:
            raise ValueError(f"list_limit is {self.list_limit}: use 1 or more")
