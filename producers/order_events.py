"""Orders of a shop: created, paid, shipped, delivered, some cancelled (topic order_events)."""

from __future__ import annotations

import hashlib
from random import Random

from forebay.producing.base import FIXED_START_MS, Event, Options, Source
from order_stores.model import OrderEvent, Status
from producers.draws import MASK, lognormal, weighted_table

_MEAN_PAUSE_S = 30
_UNNAMED = 0.08
_CANCELS_UNPAID = 0.08
_CANCELS_PAID = 0.04


class _Order:
    """An order in progress. `status` is that of its latest event; "" before the first."""

    __slots__ = ("customer_id", "order_id", "price", "product_id", "quantity", "status")

    def __init__(self) -> None:
        self.order_id = self.product_id = self.status = ""
        self.quantity = 0
        self.price = 0.0
        self.customer_id: str | None = None


class OrderEventsGenerator:
    """A number of orders is open at any time. Each event is the next step of one of them.

    When an order is delivered or cancelled, a new one takes its place. `options.keys` is the number of customers.
    Half of the orders are of all customers in turn, half of frequent customers; some orders name no customer. There is
    a product for every five customers, at most a thousand. Each has one price, and a few are in most orders.
    """

    def __init__(self, options: Options) -> None:
        start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
        self._random = random = Random(f"order_events {options.seed}")
        self._customers = [f"customer_{number:06d}" for number in range(1, options.keys + 1)]
        random.shuffle(self._customers)
        self._next = 0
        count = min(1000, max(5, options.keys // 5))
        cents = lognormal(random, median=2500, sigma=1.0, low=99, high=200_000)
        products = [(f"product_{number:04d}", cents[number] / 100) for number in range(1, count + 1)]
        self._products = weighted_table([(product, 1 / (rank + 2)) for rank, product in enumerate(products)])
        self._quantities = lognormal(random, median=1.6, sigma=0.7, low=1, high=25)
        open_orders = min(int(options.events_per_second * _MEAN_PAUSE_S), options.keys)
        self._orders = [_Order() for _ in range(max(1, open_orders))]
        self._run = hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]
        self._created = 0
        self._number = 0

    def next_event(self, timestamp: int) -> Event[OrderEvent]:
        """Return the next step of one of the open orders."""
        chance = self._random.random
        order = self._orders[int(chance() * len(self._orders))]
        match order.status:
            case Status.CREATED:
                order.status = Status.CANCELLED.value if chance() < _CANCELS_UNPAID else Status.PAID.value
            case Status.PAID:
                order.status = Status.CANCELLED.value if chance() < _CANCELS_PAID else Status.SHIPPED.value
            case Status.SHIPPED:
                order.status = Status.DELIVERED.value
            case _:
                self._begin(order)
        self._number = number = self._number + 1
        value = OrderEvent(
            event_id=f"{self._run}-{number:08x}",
            order_id=order.order_id,
            status=order.status,
            product_id=order.product_id,
            quantity=order.quantity,
            price=order.price,
            customer_id=order.customer_id,
            timestamp=timestamp,
        )
        return Event(order.order_id, value, timestamp)

    def _begin(self, order: _Order) -> None:
        random = self._random
        bits = random.getrandbits(24)
        self._created += 1
        order.order_id = f"order_{self._run}_{self._created}"
        order.status = Status.CREATED.value
        order.product_id, order.price = self._products[bits & MASK]
        order.quantity = self._quantities[bits >> 12]
        order.customer_id = None if random.random() < _UNNAMED else self._customer()

    def _customer(self) -> str:
        chance = self._random.random
        if chance() < 0.5:
            return self._customers[int(len(self._customers) * chance() ** 2)]
        self._next = (self._next + 1) % len(self._customers)
        return self._customers[self._next]


SOURCE = Source("order_events", "order-stores", "OrderEvent", OrderEvent, OrderEventsGenerator, "order_id")
