"""The logic of order-payments. Rules: docs/services/order-payments.md."""

from __future__ import annotations

from math import inf

from forebay.builder import Topology
from forebay.processor import RejectedRecord
from forebay.records import replace
from forebay.time import within
from order_payments.model import OrderPayment, Payment, PlacedOrder, Status
from order_payments.settings import OrderPaymentsSettings


def order_payments(settings: OrderPaymentsSettings) -> Topology:
    """Return the topology that joins orders with payments. An order without payment is sent when its window is over."""
    topology = Topology()
    orders = topology.stream(
        "placed_orders", PlacedOrder, timestamp="timestamp", event_id=lambda order: f"o\0{order.order_id}", nulls=False
    )
    payments = topology.stream("payments", Payment, timestamp="timestamp", event_id=_payment_id, nulls=False)
    windows = within(settings.within_ms, settings.grace_ms)
    valid = orders.peek(_check), payments.peek(_check)
    valid[0].left_join(valid[1], outcome, OrderPayment, windows=windows, store="orders-payments").to("order_payments")
    return topology


def outcome(order: PlacedOrder, payment: Payment | None) -> OrderPayment:
    """Return the result of an order and one of its payments; without a payment, it is unpaid."""
    unpaid = OrderPayment(
        order_id=order.order_id,
        customer=order.customer,
        amount=order.amount,
        status=Status.UNPAID.value,
        payment_id=None,
        paid=None,
        method=None,
        ordered_at=order.timestamp,
        paid_at=None,
    )
    if payment is None:
        return unpaid
    return replace(
        unpaid,
        status=(Status.PAID if payment.amount >= order.amount else Status.PARTLY_PAID).value,
        payment_id=payment.payment_id,
        paid=payment.amount,
        method=payment.method,
        paid_at=payment.timestamp,
    )


def _payment_id(payment: Payment) -> str:
    # Unique within its order: a task knows only the ids of its own orders, and results must not depend on the number of
    # tasks.
    return f"p\0{payment.order_id}\0{payment.payment_id}"


def _check(key: str, event: PlacedOrder | Payment | None) -> None:
    if event is None:
        return
    if not event.order_id:
        raise RejectedRecord("order_id is empty: the producer must name the order")
    if event.order_id != key:
        raise RejectedRecord(
            f"order_id is {event.order_id!r} but the record's key is {key!r}: the producer must key placed_orders and "
            "payments by order_id, so that an order meets its payments in the same task"
        )
    if not 0 < event.amount < inf:
        raise RejectedRecord(f"amount is {event.amount}: the producer must send more than 0")
