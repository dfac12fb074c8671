"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class MenuVotesSettings:
    """The settings of the logic that an operator can change.

    Args:
        history_retention_ms: how much older than the newest vote (or region) another one may be, in ms.

    Raises:
        ValueError: a value is invalid.
    """

    history_retention_ms: int = 10 * MINUTE_MS

    def __post_init__(self) -> None:
        if self.history_retention_ms < 0:
            raise ValueError(f"history_retention_ms is {self.history_retention_ms}: use 0 or a positive number of ms")
