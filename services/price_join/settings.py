"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MINUTE_MS = 60_000


class Unpriced(Enum):
    """The result of an order without a price: no bill (inner join), or a bill without a total (left join)."""

    INNER = "inner"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class PriceJoinSettings:
    """The settings of the logic that an operator can change.

    Args:
        history_retention_ms: how long former prices are kept, in ms of stream time; 0 = current prices only.
        grace_ms: how long an order waits for late prices, in ms of stream time; 0 = not at all.
        join: inner = no bill without a price; left = a bill with empty price and total.

    Raises:
        ValueError: a value is invalid.
    """

    history_retention_ms: int = 10 * MINUTE_MS
    grace_ms: int = 0
    join: Unpriced = Unpriced.INNER

    def __post_init__(self) -> None:
        if self.history_retention_ms < 0:
            raise ValueError(f"history_retention_ms is {self.history_retention_ms}: use 0 or a positive number of ms")
        if self.grace_ms < 0:
            raise ValueError(f"grace_ms is {self.grace_ms}: use 0 (orders don't wait) or a positive number of ms")
        if self.grace_ms > self.history_retention_ms:
            raise ValueError(
                f"grace_ms is {self.grace_ms}, longer than prices are known: "
                f"use at most history_retention_ms, {self.history_retention_ms}, or raise that"
            )
