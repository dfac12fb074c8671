"""The lifecycle of orders: the events that an order accepts, and the reasons why others are rejected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from order_stores.model import Order, OrderEvent, Status

MOST_ID = 1000
"""Maximum characters of an id, so that records with ids stay far below the size limit."""
MOST_QUANTITY = 1_000_000_000
MOST_PRICE = 1_000_000_000

FOLLOWING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        Status.CREATED: frozenset({Status.PAID, Status.CANCELLED}),
        Status.PAID: frozenset({Status.SHIPPED, Status.CANCELLED}),
        Status.SHIPPED: frozenset({Status.DELIVERED}),
        Status.DELIVERED: frozenset(),
        Status.CANCELLED: frozenset(),
    }
)
"""The statuses that may follow each status."""


def is_usable(event: OrderEvent, key: str) -> bool:
    """Return whether an event is valid, regardless of its order."""
    return (
        0 < len(key) <= MOST_ID
        and event.order_id == key
        and event.status in FOLLOWING
        and 0 < len(event.product_id) <= MOST_ID
        and 0 < event.quantity <= MOST_QUANTITY
        and 0 <= event.price <= MOST_PRICE
        and (event.customer_id is None or len(event.customer_id) <= MOST_ID)
    )


def why_unusable(event: OrderEvent, key: str) -> str:
    """Return the mistake in an invalid event, and the remedy for its producer."""
    for name, value in (("order_id", event.order_id), ("product_id", event.product_id)):
        if not value:
            return f"{name} is empty: the producer must name the {name.removesuffix('_id')}"
    for name, value in (
        ("order_id", event.order_id),
        ("product_id", event.product_id),
        ("customer_id", event.customer_id or ""),
    ):
        if len(value) > MOST_ID:
            return f"{name} has {len(value)} characters: use at most {MOST_ID}"
    if event.order_id != key:
        return (
            f"order_id is {event.order_id!r:.100} but the record's key is {key!r:.100}: "
            "the producer must use the order_id as the key, so that an order's events keep their order"
        )
    if event.status not in FOLLOWING:
        return f"status is {event.status!r:.100}: the producer must send one of {', '.join(FOLLOWING)}"
    if not 0 < event.quantity <= MOST_QUANTITY:
        return f"quantity is {event.quantity}: the producer must send 1 to {MOST_QUANTITY}"
    return f"price is {event.price}: the producer must send 0 to {MOST_PRICE}"


def why_rejected(order: Order | None, event: OrderEvent) -> str:
    """Return why an order's lifecycle does not allow an event."""
    if order is None:
        return f"order {event.order_id} is unknown: it must be created before it is {event.status}"
    allowed = " or ".join(sorted(FOLLOWING[order.status]))
    remedy = f"only by {allowed}" if allowed else "nothing follows it"
    return f"order {event.order_id} is {order.status}, which can't be followed by {event.status}: {remedy}"
