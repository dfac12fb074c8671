"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class OrderPaymentsSettings:
    """What an operator may change about the logic.

    Args:
        within_ms: how far apart an order and its payment may be, in ms, whichever comes first.
        grace_ms: how much longer an order waits for payments that come late, in ms of stream time.

    Raises:
        ValueError: a value that makes no sense; names it.
    """

    within_ms: int = 10 * MINUTE_MS
    grace_ms: int = MINUTE_MS

    def __post_init__(self) -> None:
        for name in ("within_ms", "grace_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: use 0 or a positive number of ms")
