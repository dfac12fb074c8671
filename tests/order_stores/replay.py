"""An independent implementation of the service's rules, with which outputs and stores are compared."""

from __future__ import annotations

from binascii import crc32
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]
Stores = dict[str, dict[str, Value]]

REQUIRED: dict[str, type | tuple[type, ...]] = {
    "order_id": str,
    "status": str,
    "product_id": str,
    "quantity": int,
    "price": (float, Decimal),
    "timestamp": int,
}
MOVES = [
    (None, "created"),
    ("created", "paid"),
    ("created", "cancelled"),
    ("paid", "shipped"),
    ("paid", "cancelled"),
    ("shipped", "delivered"),
]


def replay(
    records: Iterable[Record],
    initial_stock: int = 100,
    history_limit: int = 10,
    dedupe_retention_ms: int = 600_000,
    task_of: Callable[[str], int] = lambda _: 0,
) -> tuple[list[Output], Stores]:
    """Return the outputs in order, and the final stores by name and key.

    The stores are valid for any number of tasks, the outputs only for one task. With more tasks, the outputs of one
    order have the same order and fields, except the current counts (see `steps_by_order`). Amounts are Fractions.

    Args:
        records: Records of the whole topic. Those of an order are in the order of its partition.
        task_of: Function that returns the task of a key. Each task has a separate stream time.
    """
    shop = _Shop(initial_stock, history_limit, dedupe_retention_ms)
    for key, value, timestamp in records:
        shop.see(task_of, key, value, timestamp)
    return shop.outputs, {"orders": shop.orders, "inventory": shop.inventory, "customers": shop.customers}


def refusals(
    records: Iterable[Record], dedupe_retention_ms: int = 600_000, task_of: Callable[[str], int] = lambda _: 0
) -> list[int]:
    """Return the indexes of the `records` (see `replay`) that go to .errors."""
    shop = _Shop(100, 10, dedupe_retention_ms)
    return [place for place, record in enumerate(records) if shop.see(task_of, *record) is _Fate.REFUSED]


def steps_by_order(outputs: Iterable[Output]) -> dict[str, list[tuple[str, str, str, int]]]:
    """Return status, product, customer and timestamp of each order's results, which don't depend on the parallelism."""
    steps: dict[str, list[tuple[str, str, str, int]]] = {}
    for key, value, timestamp in outputs:
        step = (value["status"], value["product_id"], value["customer_id"], timestamp)
        steps.setdefault(key, []).append(step)
    return steps


def complete(value: Value) -> bool:
    return all(isinstance(value.get(name), kind) for name, kind in REQUIRED.items())


class _Fate(Enum):
    ACCEPTED = "accepted"
    REPEATED = "repeated"
    REFUSED = "refused"


class _Shop:
    def __init__(self, initial_stock: int, history_limit: int, dedupe_retention_ms: int) -> None:
        self.initial_stock = initial_stock
        self.history_limit = history_limit
        self.retention_ms = dedupe_retention_ms
        self.stream_times: dict[int, int] = {}
        self.repetitions: dict[int, Repetitions] = {}
        self.orders: dict[str, Value] = {}
        self.inventory: dict[str, Value] = {}
        self.customers: dict[str, Value] = {}
        self.outputs: list[Output] = []

    def see(self, task_of: Callable[[str], int], key: str | None, value: Value | None, timestamp: int) -> _Fate:
        if key is None or value is None or timestamp < 0 or not complete(value):
            return _Fate.REFUSED
        return self.take(task_of(key), key, value, timestamp)

    def take(self, task: int, key: str, value: Value, timestamp: int) -> _Fate:
        time = max(self.stream_times.get(task, -1), timestamp)
        repetitions = self.repetitions.setdefault(task, Repetitions(self.retention_ms))
        if repetitions.known(value.get("event_id"), time):
            return _Fate.REPEATED
        self.stream_times[task] = time
        order = self.orders.get(key)
        before = None if order is None else order["status"]
        if not sensible(key, value) or (before, value["status"]) not in MOVES:
            return _Fate.REFUSED
        repetitions.accept(value.get("event_id"), time)
        self.accept(key, value, timestamp)
        return _Fate.ACCEPTED

    def accept(self, key: str, value: Value, timestamp: int) -> None:
        status = value["status"]
        if status == "created":
            self.orders[key] = {
                "order_id": key,
                "status": "",
                "product_id": value["product_id"],
                "quantity": value["quantity"],
                "price": value["price"],
                "customer_id": value.get("customer_id") or f"cust_00{crc32(key.encode()) % 4 + 1}",
                "last_updated": timestamp,
            }
        order = self.orders[key]
        order["status"] = status
        order["last_updated"] = max(order["last_updated"], timestamp)
        stock = self.move_stock(order["product_id"], status, order["quantity"])
        customer = self.count_customer(order, key, timestamp)
        left = stock["available_stock"]
        orders = customer["total_orders"]
        result = {
            "order_id": key,
            "customer_id": order["customer_id"],
            "product_id": order["product_id"],
            "status": status,
            "customer_orders": orders,
            "customer_total_spent": customer["total_spent"],
            "stock_left": left,
            "reserved": stock["reserved_quantity"],
            "sold": stock["sold_quantity"],
            "backordered": left < 0,
            "summary": f"ORDER_PROCESSED:{key}:status={status}:customer_orders={orders}:stock_left={left}",
        }
        self.outputs.append((key, result, timestamp))

    def move_stock(self, product_id: str, status: str, quantity: int) -> Value:
        stock = self.inventory.setdefault(
            product_id, {"available_stock": self.initial_stock, "reserved_quantity": 0, "sold_quantity": 0}
        )
        origin, target = {
            "created": ("available_stock", "reserved_quantity"),
            "shipped": ("reserved_quantity", "sold_quantity"),
            "cancelled": ("reserved_quantity", "available_stock"),
        }.get(status, ("sold_quantity", "sold_quantity"))
        stock[origin] -= quantity
        stock[target] += quantity
        return stock

    def count_customer(self, order: Value, key: str, timestamp: int) -> Value:
        customer = self.customers.setdefault(
            order["customer_id"],
            {"total_orders": 0, "total_spent": Fraction(0), "order_history": [], "history_times": []},
        )
        if order["status"] == "created":
            customer["total_orders"] += 1
            known = [*zip(customer["history_times"], customer["order_history"], strict=True), (timestamp, key)]
            known = sorted(known)[-self.history_limit :]
            customer["history_times"] = [time for time, _ in known]
            customer["order_history"] = [order_id for _, order_id in known]
        if order["status"] == "paid":
            customer["total_spent"] += exact(order["price"]) * order["quantity"]
        return customer


def sensible(key: str, value: Value) -> bool:
    return (
        key == value["order_id"]
        and all(0 < len(value[name]) <= 1000 for name in ("order_id", "product_id"))
        and len(value.get("customer_id") or "") <= 1000
        and 1 <= value["quantity"] <= 10**9
        and 0 <= value["price"] <= 10**9
    )


def exact(price: float | Decimal) -> Fraction:
    """Return a price as a fraction, rounded to six decimal places."""
    return round(Fraction(str(price)), 6)
