"""Payments of a shop's orders (topic payments)."""

from __future__ import annotations

from random import Random

from forebay.producing.base import Event, Options, Source
from order_payments.model import Payment
from producers.shop import Shop

_METHODS = ("card", "card", "card", "transfer", "wallet", None)
_IN_PARTS = 0.05


class PaymentsGenerator:
    """Each payment is for the order of its time, or if that order is never paid, again for the order before.

    Some payments are partial. With the rate and seed of `placed_orders`, an order and its payment have the same time.
    Start the orders earlier for later payments.
    """

    def __init__(self, options: Options) -> None:
        self._shop = Shop(options)
        self._random = Random(f"payments {options.seed}")
        self._first = -1

    def next_event(self, timestamp: int) -> Event[Payment]:
        """Return the next payment."""
        number = newest = self._shop.next_number(timestamp)
        draw = self._random
        self._first = newest if self._first < 0 else self._first
        order = self._shop.order(number)
        while not order.is_paid and number > self._first:
            number -= 1
            order = self._shop.order(number)
        in_part = number != newest or draw.random() < _IN_PARTS
        cents = max(1, order.cents // 2) if in_part else order.cents
        method = _METHODS[int(draw.random() * len(_METHODS))]
        payment = Payment(
            payment_id=f"{order.order_id}-p{newest:x}",
            order_id=order.order_id,
            amount=cents / 100,
            method=method,
            timestamp=timestamp,
        )
        return Event(order.order_id, payment, timestamp)


SOURCE = Source("payments", "order-payments", "Payment", Payment, PaymentsGenerator, "payment_id")
