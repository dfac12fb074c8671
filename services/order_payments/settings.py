"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class OrderPaymentsSettings:
    """The settings of the logic that an operator can change.

    Args:
        within_ms: maximum time between an order and its payment in either order, in ms.
        grace_ms: how much longer an order waits for late payments, in ms of stream time.

    Raises:
        ValueError: a value is invalid.
    """

    within_ms: int = 10 * MINUTE_MS
    grace_ms: int = MINUTE_MS

    def __post_init__(self) -> None:
        for name in ("within_ms", "grace_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: use 0 or a positive number of ms")
