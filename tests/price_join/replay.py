"""An independent implementation of the service's rules, with which outputs and stores are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str, str | None, Value | None, int]
"""Topic, key, value by field name, event time in ms."""
Output = tuple[str, Value, int]
History = list[tuple[int, float, int | None]]
"""Versions of a price, the oldest first: valid from, price, valid to."""

REQUIRED = {
    "menu_prices": {"item": str, "price": float, "timestamp": int},
    "food_orders": {"order_id": str, "customer": str, "item": str, "quantity": int, "timestamp": int},
}


def replay(
    records: Iterable[Record],
    history_retention_ms: int = 600_000,
    grace_ms: int = 0,
    join: str = "inner",
    dedupe_retention_ms: int = 600_000,
    until: int | None = None,
) -> tuple[list[Output], dict[str, dict[str, History]]]:
    """Return the bills in order, and the prices of each item, after one task has processed `records` in this order.

    An order's grace is measured in the time of orders. A price advances the task's stream time but releases no order.

    Args:
        until: Time (ms) of the task's clock after the last record. Orders whose grace is over by then are billed.
    """
    task = _Task(history_retention_ms, grace_ms, join, dedupe_retention_ms)
    for topic, key, value, timestamp in records:
        if key is None or timestamp < 0:
            continue
        if value is None and topic == "menu_prices":
            task.remove(key, timestamp)
        elif value is not None and complete(topic, value):
            task.take(topic, key, value, timestamp)
    if until is not None:
        task.bill_waiting(task.order_time + until - task.stream_time)
    return task.outputs, {"menu-prices": {item: task.history(item) for item in sorted(task.prices)}}


def final_bills(records: Iterable[Record], join: str = "inner") -> list[Output]:
    """Return the bills by order time if every price is read before its orders.

    If the grace is as long as the longest delay, the service has these bills, no matter how a task reads both topics.
    """
    in_time = sorted(records, key=lambda record: (record[3], record[0] != "menu_prices"))
    return replay(in_time, history_retention_ms=1 << 60, join=join, dedupe_retention_ms=1 << 60)[0]


def complete(topic: str, value: Value) -> bool:
    return all(isinstance(value.get(name), kind) for name, kind in REQUIRED[topic].items())


class _Task:
    def __init__(self, history_retention_ms: int, grace_ms: int, join: str, dedupe_retention_ms: int) -> None:
        self.history_ms = history_retention_ms
        self.grace_ms = grace_ms
        self.join = join
        self.repetitions = Repetitions(dedupe_retention_ms)
        self.stream_time = -1
        self.newest_price = -1
        self.order_time = -1
        self.orders = 0
        self.prices: dict[str, dict[int, float | None]] = {}
        self.waiting: list[tuple[int, str, int, Value]] = []
        self.outputs: list[Output] = []

    def remove(self, item: str, timestamp: int) -> None:
        self.stream_time = max(self.stream_time, timestamp)
        self.reprice(item, None, timestamp)

    def take(self, topic: str, key: str, value: Value, timestamp: int) -> None:
        time = max(self.stream_time, timestamp)
        event_id = None if topic == "menu_prices" else f"{value['order_id']} {value['item']}"
        if self.repetitions.known(event_id, time):
            return
        self.stream_time = time
        if value["item"] == "" or value["item"] != key:
            return
        if topic == "menu_prices":
            self.reprice(key, value["price"], timestamp)
        elif value["quantity"] >= 1:
            self.repetitions.accept(event_id, time)
            self.orders += 1
            self.order_time = max(self.order_time, timestamp)
            self.waiting.append((timestamp, key, self.orders, value))
            self.bill_waiting(self.order_time)

    def reprice(self, item: str, price: float | None, timestamp: int) -> None:
        if (price is None or 0 <= price < float("inf")) and timestamp >= self.newest_price - self.history_ms:
            self.prices.setdefault(item, {})[timestamp] = price
            self.newest_price = max(self.newest_price, timestamp)

    def bill_waiting(self, time: int) -> None:
        due = sorted(entry for entry in self.waiting if entry[0] + self.grace_ms <= time or not self.grace_ms)
        self.waiting = [entry for entry in self.waiting if entry not in due]
        for timestamp, item, _, order in due:
            self.bill(item, order, timestamp)

    def bill(self, item: str, order: Value, timestamp: int) -> None:
        outcome = self.price_at(item, timestamp)
        if outcome is None and self.join == "inner":
            return
        valid_from, price = outcome or (None, None)
        result = {name: order[name] for name in ("order_id", "customer", "item", "quantity")}
        result["unit_price"] = price
        result["total"] = None if price is None else order["quantity"] * price
        result["price_valid_from"] = valid_from
        self.outputs.append((item, result, timestamp))

    def price_at(self, item: str, timestamp: int) -> tuple[int, float] | None:
        """Remove prices before the history, except the price that is still valid at its beginning."""
        versions = self.prices.get(item, {})
        before = [since for since in versions if since <= timestamp]
        if not before or (timestamp < self.newest_price - self.history_ms and max(before) != max(versions)):
            return None
        price = versions[max(before)]
        return None if price is None else (max(before), price)

    def history(self, item: str) -> History:
        starts = sorted(self.prices[item])
        return [
            (start, price, end)
            for start, end in zip(starts, [*starts[1:], None], strict=True)
            if (price := self.prices[item][start]) is not None
            and (end is None or end > self.newest_price - self.history_ms)
        ]
