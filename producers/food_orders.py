"""Orders of a restaurant's guests (topic food_orders)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from price_join.model import FoodOrder
from producers.draws import weighted_table
from producers.restaurant import Turns, dishes, guests, run_id

_QUANTITIES = weighted_table([(1, 60.0), (2, 25.0), (3, 9.0), (4, 4.0), (6, 1.5), (10, 0.5)])
_GUESTS = 500


class FoodOrdersGenerator:
    """Orders of `options.keys` items, of which a few are in most orders. Records are keyed by item.

    The n-th order is of one of the first n items, whose prices `menu_prices` with the same options has sent by then.
    """

    def __init__(self, options: Options) -> None:
        self._random = random = Random(f"food_orders {options.seed}")
        self._items = dishes(options.keys)
        self._turns = Turns(options.keys, random)
        self._guests = guests(_GUESTS)
        self._run = run_id(options)
        self._number = 0

    def next_event(self, timestamp: int) -> Event[FoodOrder]:
        """Return the next order."""
        random = self._random
        number = self._number
        self._number = number + 1
        index = self._turns.next()
        if index >= number:
            index %= number or 1
        item = self._items[index]
        customer = self._guests[int(random.random() * _GUESTS)]
        quantity = _QUANTITIES[random.getrandbits(12)]
        return Event(
            item,
            FoodOrder(
                order_id=f"{self._run}-{number:08x}",
                customer=customer,
                item=item,
                quantity=quantity,
                timestamp=timestamp,
            ),
            timestamp,
        )


SOURCE = Source("food_orders", "price-join", "FoodOrder", FoodOrder, FoodOrdersGenerator, "item")
