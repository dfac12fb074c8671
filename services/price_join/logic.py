"""The logic of price-join. Rules: docs/services/price-join.md."""

from __future__ import annotations

import math

from forebay.builder import Topology
from forebay.processor import RejectedRecord
from price_join.model import FoodBill, FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings, Unpriced


def price_join(settings: PriceJoinSettings) -> Topology:
    """Return the topology that bills each order at its item's price when it was placed."""
    topology = Topology()
    prices = topology.table(
        "menu_prices",
        MenuPrice,
        store="menu-prices",
        history_retention_ms=settings.history_retention_ms,
        timestamp="timestamp",
        check=_check_price,
    )
    orders = topology.stream("food_orders", FoodOrder, timestamp="timestamp", event_id=_order_id, nulls=False)
    valid = orders.peek(_check_order)
    join = valid.left_join if settings.join is Unpriced.LEFT else valid.join
    join(prices, bill, FoodBill, grace_ms=settings.grace_ms, waiting="waiting-orders").to("food_bills")
    return topology


def bill(order: FoodOrder, price: MenuPrice | None) -> FoodBill:
    """Return an order's bill. Without a price, it has no total."""
    return FoodBill(
        order_id=order.order_id,
        customer=order.customer,
        item=order.item,
        quantity=order.quantity,
        unit_price=None if price is None else price.price,
        total=None if price is None else order.quantity * price.price,
        price_valid_from=None if price is None else price.timestamp,
    )


def _order_id(order: FoodOrder) -> str:
    """Return an order's id with its item, because an order of several items has a record for each."""
    return f"{order.order_id}\0{order.item}"


def _check_price(key: str, price: MenuPrice) -> None:
    _check_item(price.item, key)
    if not 0 <= price.price < math.inf:
        raise RejectedRecord(f"price is {price.price}: the producer must send 0 or more")


def _check_order(key: str, order: FoodOrder | None) -> None:
    if order is not None:
        _check_item(order.item, key)
        if order.quantity < 1:
            raise RejectedRecord(f"quantity is {order.quantity}: the producer must send 1 or more")


def _check_item(item: str, key: str) -> None:
    if not item:
        raise RejectedRecord("item is empty: the producer must name the item")
    if item != key:
        raise RejectedRecord(
            f"item is {item!r} but the record's key is {key!r}: the producer must key menu_prices and food_orders by "
            "item, so that an order meets its price in the same task"
        )
