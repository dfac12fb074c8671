"""Records of the service, which match the contracts in avro/order-stores field by field."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from forebay.records import Record


class Status(StrEnum):
    """The status of an order."""

    CREATED = "created"
    PAID = "paid"
    SHIPPED = "shipped"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"


class OrderEvent(Record):
    """A step of an order (topic order_events). Time in ms; price per piece."""

    event_id: str | None
    order_id: str
    status: str
    product_id: str
    quantity: int
    price: Decimal | float
    customer_id: str | None
    timestamp: int


class Order(Record):
    """State per order (store orders): the fields of its `created` event, and its status. Time in ms."""

    order_id: str
    status: str
    product_id: str
    quantity: int
    price: Decimal | float
    customer_id: str
    last_updated: int


class ProductStep(Record):
    """An accepted event for the sub-topology of products, keyed by product."""

    order_id: str
    customer_id: str
    status: str
    quantity: int
    amount: Decimal | None


class ProductStock(Record):
    """State per product (store inventory), in pieces. A negative available_stock means that pieces are backordered."""

    available_stock: int
    reserved_quantity: int
    sold_quantity: int


class CustomerStep(Record):
    """A step with the product's stock after it, for the sub-topology of customers, keyed by customer."""

    order_id: str
    product_id: str
    status: str
    amount: Decimal | None
    stock_left: int
    reserved: int
    sold: int


class Customer(Record):
    """State per customer (store customers), with the latest orders, oldest first, and their creation times in ms."""

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
