"""Records of the service: contracts in avro/order-stores, field for field."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from forebay.records import Record


class Status(StrEnum):
    """Where an order stands."""

    CREATED = "created"
    PAID = "paid"
    SHIPPED = "shipped"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"


class OrderEvent(Record):
    """One step of an order (topic order_events). Time in ms; price of one piece."""

    event_id: str | None
    order_id: str
    status: str
    product_id: str
    quantity: int
    price: Decimal | float
    customer_id: str | None
    timestamp: int


class Order(Record):
    """State per order (store orders): what `created` said, and where the order stands. Time in ms."""

    order_id: str
    status: str
    product_id: str
    quantity: int
    price: Decimal | float
    customer_id: str
    last_updated: int


class ProductStep(Record):
    """What an accepted event means for its product: handed to the stage products, keyed by product."""

    order_id: str
    customer_id: str
    status: str
    quantity: int
    amount: Decimal | None


class ProductStock(Record):
    """State per product (store inventory), in pieces; available_stock below 0: more is ordered than there is."""

    available_stock: int
    reserved_quantity: int
    sold_quantity: int


class CustomerStep(Record):
    """The step with the product's stock after it: handed to the stage customers, keyed by customer."""

    order_id: str
    product_id: str
    status: str
    amount: Decimal | None
    stock_left: int
    reserved: int
    sold: int


class Customer(Record):
    """State per customer (store customers). The latest orders, oldest first, and their creation times in ms."""

    total_orders: int
    total_spent: Decimal
    order_history: tuple[str, ...]
    history_times: tuple[int, ...]


class OrderProcessingResult(Record):
    """The three stores after an event (topic order_processing_results)."""

    order_id: str
    customer_id: str
    product_id: str
    status: str
    customer_orders: int
    customer_total_spent: Decimal
    stock_left: int
    reserved: int
    sold: int
    backordered: bool
    summary: str
