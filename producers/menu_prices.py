"""Prices on a restaurant's menu, and their changes (topic menu_prices)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from price_join.model import MenuPrice
from producers.draws import lognormal, weighted_table
from producers.restaurant import dishes

_CHANGES = weighted_table([(-4, 1.0), (-2, 4.0), (-1, 8.0), (1, 10.0), (2, 6.0), (3, 2.0), (8, 0.5)])
_CHEAPEST = 4
_DEAREST = 400


class MenuPricesGenerator:
    """Each of `options.keys` items gets its first price in turn. Then prices change, up more often than down.

    Prices are in steps of a quarter, so that totals are exact in binary.
    """

    def __init__(self, options: Options) -> None:
        self._random = random = Random(f"menu_prices {options.seed}")
        self._items = dishes(options.keys)
        first = lognormal(random, median=44, sigma=0.4, low=12, high=160)
        self._quarters = [first[random.getrandbits(12)] for _ in self._items]
        self._number = 0

    def next_event(self, timestamp: int) -> Event[MenuPrice]:
        """Return the next item's first price, or a new price of one of them."""
        number = self._number
        if number < len(self._items):
            self._number = number + 1
        else:
            number = int(self._random.random() * len(self._items))
            changed = self._quarters[number] + _CHANGES[self._random.getrandbits(12)]
            self._quarters[number] = min(_DEAREST, max(_CHEAPEST, changed))
        item = self._items[number]
        return Event(item, MenuPrice(item, self._quarters[number] / 4, timestamp), timestamp)


SOURCE = Source("menu_prices", "price-join", "MenuPrice", MenuPrice, MenuPricesGenerator, "item")
