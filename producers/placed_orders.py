"""Orders of a shop's customers (topic placed_orders)."""

from __future__ import annotations

from forebay.producing.base import Event, Options, Source
from order_payments.model import PlacedOrder
from producers.shop import Shop


class PlacedOrdersGenerator:
    """Orders of `options.keys` customers, for which `payments` generates the payments. Records are keyed by order."""

    def __init__(self, options: Options) -> None:
        self._shop = Shop(options)

    def next_event(self, timestamp: int) -> Event[PlacedOrder]:
        """Return the next order."""
        order = self._shop.order(self._shop.next_number(timestamp))
        placed = PlacedOrder(order.order_id, order.customer, order.cents / 100, timestamp)
        return Event(order.order_id, placed, timestamp)


SOURCE = Source("placed_orders", "order-payments", "PlacedOrder", PlacedOrder, PlacedOrdersGenerator, "order_id")
