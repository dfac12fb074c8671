"""The service under test, as a shop that receives orders and payments."""

from __future__ import annotations

import itertools
from typing import Any

from forebay.testing import Forwarded, TestDriver
from order_payments.model import OrderPayment, Payment, PlacedOrder
from order_payments.settings import OrderPaymentsSettings

START = 1_735_689_600_000
MINUTE = 60_000

Outcomes = list[tuple[str, str, str | None]]
"""Order, status and payment of each output."""


class Shop:
    """A test driver for the service. Times are ms after START."""

    def __init__(self, tasks: int = 1, **settings: Any) -> None:
        self.driver = TestDriver("order-payments", tasks=tasks, settings=OrderPaymentsSettings(**settings))
        self._numbers = itertools.count(1)

    def order(self, at: int, order_id: str, amount: float = 10.0, key: str | None = None) -> Outcomes:
        """Place an order, and return its outputs."""
        placed = PlacedOrder(order_id, "anna", amount, START + at)
        return outcomes(self.driver.pipe(order_id if key is None else key, placed, "placed_orders"))

    def pay(self, at: int, order_id: str, amount: float = 10.0, payment_id: str = "") -> Outcomes:
        """Pay for an order, and return the outputs."""
        payment = Payment(payment_id or f"p-{next(self._numbers)}", order_id, amount, "card", START + at)
        return outcomes(self.driver.pipe(order_id, payment, "payments"))

    def pause(self, ms: int) -> Outcomes:
        """Advance time without a record, and return the outputs."""
        return outcomes(self.driver.advance_wall_time(ms))


def outcomes(outputs: list[Forwarded[OrderPayment]]) -> Outcomes:
    """Return order, status and payment of outputs."""
    return [(output.key, output.value.status, output.value.payment_id) for output in outputs]
