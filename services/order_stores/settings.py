"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass

MOST_HISTORY = 1000


@dataclass(frozen=True, slots=True)
class OrderStoresSettings:
    """The settings of the logic that an operator can change.

    Args:
        initial_stock: pieces of a product before its first order.
        history_limit: maximum orders in a customer's history, from 1 to 1000.

    Raises:
        ValueError: a value is invalid.
    """

    initial_stock: int = 100
    history_limit: int = 10

    def __post_init__(self) -> None:
        if self.initial_stock < 0:
            raise ValueError(f"initial_stock is {self.initial_stock}: use 0 or more")
        if not 1 <= self.history_limit <= MOST_HISTORY:
            raise ValueError(f"history_limit is {self.history_limit}: use 1 to {MOST_HISTORY}")
