"""Records of the service, which match the contracts in avro/order-payments field by field."""

from __future__ import annotations

from enum import StrEnum

from forebay.records import Record


class Status(StrEnum):
    """The payment status of an order."""

    PAID = "PAID"
    PARTLY_PAID = "PARTLY_PAID"
    UNPAID = "UNPAID"


class PlacedOrder(Record):
    """An order of a customer (topic placed_orders). Time in ms."""

    order_id: str
    customer: str
    amount: float
    timestamp: int


class Payment(Record):
    """A payment for an order (topic payments). Time in ms."""

    payment_id: str
    order_id: str
    amount: float
    method: str | None
    timestamp: int


class OrderPayment(Record):
    """An order with one of its payments, or without payment and with None in its fields (topic order_payments).

    Args:
        status: one of Status.
    """

    order_id: str
    customer: str
    amount: float
    status: str
    payment_id: str | None
    paid: float | None
    method: str | None
    ordered_at: int
    paid_at: int | None
