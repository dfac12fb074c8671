"""price-join as a processor without the DSL, with which `python -m benchmarks.dsl` compares the service."""

from __future__ import annotations

import math
from collections.abc import Iterable

from forebay.operators import Join, LatestByTimestamp, Result, StreamTableJoin, Waiting
from forebay.processor import Context, LateRecord, Processor, RejectedRecord, Timer
from forebay.stores.buffers import JoinBuffer
from forebay.stores.versioned import NOT_PUT, VersionedKeyValueStore
from price_join.model import FoodBill, FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings

GRACE_OVER = "grace-over"

Bills = StreamTableJoin[FoodOrder, MenuPrice, FoodBill]


class PriceJoin(Processor[MenuPrice | FoodOrder, FoodBill]):
    """Bills each order at the price that its item had at the time of the order."""

    waiting = JoinBuffer("waiting-orders", FoodOrder)

    def __init__(self, settings: PriceJoinSettings | None = None) -> None:
        settings = settings or PriceJoinSettings()
        self._grace_ms = settings.grace_ms
        self._join = Join(settings.join.value)
        self.prices = VersionedKeyValueStore(
            "menu-prices", MenuPrice, history_retention_ms=settings.history_retention_ms
        )

    def init(self) -> None:
        table = LatestByTimestamp(self.prices)
        self._waiting_bills: Bills = StreamTableJoin(
            table, self._join, bill, buffer=self.waiting, grace_ms=self._grace_ms
        )
        self._waiting = Waiting(self._waiting_bills, GRACE_OVER)
        self._bills: Bills = StreamTableJoin(table, self._join, bill)

    def event_id(self, event: MenuPrice | FoodOrder) -> str | None:
        """Return the id of an order with its item, because an order has a record for each item. Prices have no id."""
        return f"{event.order_id}\0{event.item}" if isinstance(event, FoodOrder) else None

    def record_key(self, name: str, key: str) -> str | None:
        """Return the item, or None for the timer, which belongs to the task and not to a key."""
        return None if name == GRACE_OVER else key

    def process(self, event: MenuPrice | FoodOrder, ctx: Context[FoodBill]) -> None:
        """Store a price as a version of its item's price. Bill an order at once, or at the end of its grace period."""
        if event.item != ctx.key or not event.item:
            raise RejectedRecord(_mismatch(event.item, ctx.key))
        if isinstance(event, FoodOrder):
            self._bill(event, ctx)
        else:
            self._reprice(event)

    def on_delete(self, topic: str, ctx: Context[FoodBill]) -> None:
        """Remove the item from the menu. After this time it has no price."""
        self._put(ctx.key, None, ctx.timestamp)

    def on_timer(self, timer: Timer, ctx: Context[FoodBill]) -> None:
        """Bill the orders whose grace period has ended."""
        _send(self._waiting.on_timer(ctx), ctx)

    def _reprice(self, price: MenuPrice) -> None:
        if not 0 <= price.price < math.inf:
            raise RejectedRecord(f"price is {price.price}: the producer must send 0 or more")
        self._put(price.item, price, price.timestamp)

    def _put(self, item: str, price: MenuPrice | None, ts: int) -> None:
        if self.prices.put(item, price, ts) is NOT_PUT:
            raise LateRecord(self._before_history(ts))

    def _bill(self, order: FoodOrder, ctx: Context[FoodBill]) -> None:
        if order.quantity < 1:
            raise RejectedRecord(f"quantity is {order.quantity}: the producer must send 1 or more")
        ts = order.timestamp
        if self._grace_ms:
            bills = self._waiting.process(order.item, order, ts, ctx)
        else:
            bills = self._bills.process(order.item, order, ts)
        _send(bills, ctx)
        billed = bills[0].value if bills else None
        if billed is None or billed.price_valid_from is None:
            by_ms = self._before_history(ts)
            if by_ms > 0:
                ctx.late(by_ms)

    def _before_history(self, ts: int) -> int:
        return self.prices.stream_time - self.prices.history_retention_ms - ts


def bill(order: FoodOrder, price: MenuPrice | None) -> FoodBill:
    """Return the bill of an order. Without a price, the bill has no total."""
    quantity = order.quantity
    if price is None:
        return FoodBill(order.order_id, order.customer, order.item, quantity, None, None, None)
    unit_price = price.price
    return FoodBill(
        order.order_id, order.customer, order.item, quantity, unit_price, quantity * unit_price, price.timestamp
    )


def _send(bills: Iterable[Result[FoodBill]], ctx: Context[FoodBill]) -> None:
    for item, value, ts in bills:
        ctx.forward(value, item, ts)


def _mismatch(item: str, key: str) -> str:
    if not item:
        return "item is empty: the producer must name the item"
    return (
        f"item is {item!r} but the record's key is {key!r}: the producer must key menu_prices and food_orders by item, "
        "so that an order meets its price in the same task"
    )
