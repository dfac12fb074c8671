"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class MenuVotesSettings:
    """What an operator may change about the logic.

    Args:
        history_retention_ms: how far behind the newest vote (or region) another one may lie, in ms.

    Raises:
        ValueError: a value that makes no sense; names it.
    """

    history_retention_ms: int = 10 * MINUTE_MS

    def __post_init__(self) -> None:
        if self.history_retention_ms < 0:
            raise ValueError(f"history_retention_ms is {self.history_retention_ms}: use 0 or a positive number of ms")
