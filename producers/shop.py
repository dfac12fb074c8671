"""A synthetic shop: what its n-th order is, the same for orders and for payments of the same options."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from forebay.producing.base import Options
from producers.restaurant import guests, run_id

_UNPAID = 0.08


@dataclass(frozen=True, slots=True)
class ShopOrder:
    """An order: whether it is ever paid is known to nobody but the shop."""

    order_id: str
    customer: str
    cents: int
    is_paid: bool


class Shop:
    """Orders by number, of `options.keys` customers."""

    def __init__(self, options: Options) -> None:
        self._customers = guests(options.keys)
        self._run = run_id(options)
        self._seed = options.seed

    def order(self, number: int) -> ShopOrder:
        """Return the order of that number, from 0."""
        draw = Random(f"shop {self._seed} {number}")
        customer = self._customers[int(draw.random() ** 2 * len(self._customers))]
        cents = int(draw.lognormvariate(8.0, 0.8)) + 100
        return ShopOrder(f"{self._run}-{number:08x}", customer, cents, draw.random() >= _UNPAID)
