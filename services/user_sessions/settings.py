"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class UserSessionsSettings:
    """The settings of the logic that an operator can change.

    Args:
        idle_timeout_ms: time without activity after which a session ends, in ms of stream time; 0 = never.
        list_limit: maximum entries of a list or map in the state (devices, browsers, countries, actions, pages).

    Raises:
        ValueError: a value is invalid.
    """

    idle_timeout_ms: int = 30 * MINUTE_MS
    list_limit: int = 100

    def __post_init__(self) -> None:
        if self.idle_timeout_ms < 0:
            raise ValueError(f"idle_timeout_ms is {self.idle_timeout_ms}: use 0 (never) or a positive number of ms")
        if self.list_limit < 1:
            raise ValueError(f"list_limit is {self.list_limit}: use 1 or more")
