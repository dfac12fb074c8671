"""The orders of a synthetic shop, which are the same for orders and payments with the same rate and seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random

from forebay.producing.base import Options
from producers.restaurant import guests

_UNPAID = 0.08


@dataclass(frozen=True, slots=True)
class ShopOrder:
    """An order, with whether it is ever paid."""

    order_id: str
    customer: str
    cents: int
    is_paid: bool


class Shop:
    """Orders of `options.keys` customers, numbered by their time.

    So two producers that begin at different times, or begin again, generate the same orders.
    """

    def __init__(self, options: Options) -> None:
        self._customers = guests(options.keys)
        self._name = hashlib.sha256(f"shop {options.seed}".encode()).hexdigest()[:8]
        self._seed = options.seed
        self._rate = options.events_per_second
        self._last = -1

    def next_number(self, timestamp: int) -> int:
        """Return the number of the next order, which is due at `timestamp` (ms). Numbers are never repeated."""
        self._last = max(round(timestamp * self._rate / 1000), self._last + 1)
        return self._last

    def order(self, number: int) -> ShopOrder:
        """Return the order with a number."""
        draw = Random(f"shop {self._seed} {number}")
        customer = self._customers[int(draw.random() ** 2 * len(self._customers))]
        cents = int(draw.lognormvariate(8.0, 0.8)) + 100
        return ShopOrder(f"{self._name}-{number:x}", customer, cents, draw.random() >= _UNPAID)
