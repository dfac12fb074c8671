"""The final outputs of the service (every pair, and every unmatched record) if no delay exceeds the grace."""

from __future__ import annotations

from collections.abc import Iterable

from order_payments.model import Payment, PlacedOrder
from tests.order_payments.harness import Outcomes


def replay(records: Iterable[tuple[str, PlacedOrder | Payment]], within_ms: int) -> Outcomes:
    """Return order, status and payment of each output, sorted.

    Repeated ids and invalid records are ignored. Payments are repeated only if they are for the same order.

    Args:
        records: Pairs of key and event.
    """
    orders: dict[str, PlacedOrder] = {}
    payments: dict[tuple[str, str], Payment] = {}
    for key, event in records:
        if key == event.order_id != "" and event.amount > 0:
            if isinstance(event, PlacedOrder):
                orders.setdefault(event.order_id, event)
            else:
                payments.setdefault((event.order_id, event.payment_id), event)
    results: Outcomes = []
    for order in orders.values():
        near = [
            payment
            for payment in payments.values()
            if payment.order_id == order.order_id and abs(payment.timestamp - order.timestamp) <= within_ms
        ]
        for payment in near:
            status = "PAID" if payment.amount >= order.amount else "PARTLY_PAID"
            results.append((order.order_id, status, payment.payment_id))
        if not near:
            results.append((order.order_id, "UNPAID", None))
    return sorted(results, key=str)
