"""The logic of order-stores, by sub-topology. Rules: docs/services/order-stores.md."""

from __future__ import annotations

import zlib

from forebay.processor import Context, Processor, RejectedRecord
from forebay.stores import KeyValueStore
from order_stores.lifecycle import FOLLOWING, is_usable, why_rejected, why_unusable
from order_stores.model import (
    Customer,
    CustomerStep,
    Order,
    OrderEvent,
    OrderProcessingResult,
    ProductStep,
    ProductStock,
    Status,
)
from order_stores.money import ZERO, amount_of, plus
from order_stores.settings import OrderStoresSettings

_CREATED, _PAID, _SHIPPED = Status.CREATED.value, Status.PAID.value, Status.SHIPPED.value
_MOVES_STOCK = frozenset({_CREATED, _SHIPPED, Status.CANCELLED.value})
_NEW_CUSTOMER = Customer(0, ZERO, (), ())


class Orders(Processor[OrderEvent, ProductStep]):
    """Checks each event against its order's lifecycle, and forwards accepted events by product.

    Product, quantity, price and customer are those of the order's `created`, regardless of later events.
    """

    orders = KeyValueStore("orders", Order)

    def __init__(self, settings: OrderStoresSettings | None = None) -> None:
        """Accept the service's settings, of which none concerns orders."""

    def process(self, event: OrderEvent, ctx: Context[ProductStep]) -> None:
        """Update the order's status, or reject the event."""
        order_id = ctx.key
        if not is_usable(event, order_id):
            raise RejectedRecord(why_unusable(event, order_id))
        status = event.status
        ts = event.timestamp
        order = self.orders.get(order_id)
        if order is None:
            if status != _CREATED:
                raise RejectedRecord(why_rejected(None, event))
            product_id, quantity, price = event.product_id, event.quantity, event.price
            customer_id = event.customer_id or default_customer(order_id)
            updated = ts
        else:
            if status not in FOLLOWING[order.status]:
                raise RejectedRecord(why_rejected(order, event))
            product_id, quantity, price = order.product_id, order.quantity, order.price
            customer_id = order.customer_id
            updated = ts if ts > order.last_updated else order.last_updated
        self.orders.put(
            order_id,
            Order(
                order_id=order_id,
                status=status,
                product_id=product_id,
                quantity=quantity,
                price=price,
                customer_id=customer_id,
                last_updated=updated,
            ),
        )
        amount = amount_of(price, quantity) if status == _PAID else None
        ctx.forward(
            ProductStep(order_id=order_id, customer_id=customer_id, status=status, quantity=quantity, amount=amount),
            product_id,
        )


class Products(Processor[ProductStep, CustomerStep]):
    """Keeps each product's stock, and forwards the steps by customer. It only adds, so their order does not matter."""

    inventory = KeyValueStore("inventory", ProductStock)

    def __init__(self, settings: OrderStoresSettings | None = None) -> None:
        self._untouched = ProductStock((settings or OrderStoresSettings()).initial_stock, 0, 0)

    def event_id(self, event: ProductStep) -> None:
        """Give None: repetitions were recognized before the step was made."""

    def process(self, event: ProductStep, ctx: Context[CustomerStep]) -> None:
        """Reserve, sell or release the order's pieces."""
        product_id = ctx.key
        status = event.status
        stock = self.inventory.get(product_id) or self._untouched
        left, reserved, sold = stock.available_stock, stock.reserved_quantity, stock.sold_quantity
        if status in _MOVES_STOCK:
            quantity = event.quantity
            if status == _CREATED:
                left -= quantity
                reserved += quantity
            else:
                reserved -= quantity
                if status == _SHIPPED:
                    sold += quantity
                else:
                    left += quantity
            self.inventory.put(product_id, ProductStock(left, reserved, sold))
        ctx.forward(
            CustomerStep(
                order_id=event.order_id,
                product_id=product_id,
                status=status,
                amount=event.amount,
                stock_left=left,
                reserved=reserved,
                sold=sold,
            ),
            event.customer_id,
        )


class Customers(Processor[CustomerStep, OrderProcessingResult]):
    """Keeps each customer's totals, and sends the results, keyed by order.

    Totals are sums and the history is sorted, so the order in which a customer's events arrive does not matter.
    """

    customers = KeyValueStore("customers", Customer)

    def __init__(self, settings: OrderStoresSettings | None = None) -> None:
        self._limit = (settings or OrderStoresSettings()).history_limit

    def event_id(self, event: CustomerStep) -> None:
        """Give None: repetitions were recognized before the step was made."""

    def process(self, event: CustomerStep, ctx: Context[OrderProcessingResult]) -> None:
        """Count the order when it is created, and its amount when it is paid."""
        customer_id = ctx.key
        order_id, status, left = event.order_id, event.status, event.stock_left
        customer = self.customers.get(customer_id) or _NEW_CUSTOMER
        orders, spent = customer.total_orders, customer.total_spent
        if status == _CREATED:
            orders += 1
            history, times = _append_order(customer, order_id, ctx.timestamp, self._limit)
            self.customers.put(customer_id, Customer(orders, spent, history, times))
        elif event.amount is not None:
            spent = plus(spent, event.amount)
            self.customers.put(customer_id, Customer(orders, spent, customer.order_history, customer.history_times))
        ctx.forward(
            OrderProcessingResult(
                order_id=order_id,
                customer_id=customer_id,
                product_id=event.product_id,
                status=status,
                customer_orders=orders,
                customer_total_spent=spent,
                stock_left=left,
                reserved=event.reserved,
                sold=event.sold,
                backordered=left < 0,
                summary=f"ORDER_PROCESSED:{order_id}:status={status}:customer_orders={orders}:stock_left={left}",
            ),
            order_id,
        )


def default_customer(order_id: str) -> str:
    """Return the customer of an order without customer: one of cust_001 to cust_004."""
    return f"cust_00{zlib.crc32(order_id.encode()) % 4 + 1}"


def _append_order(
    customer: Customer, order_id: str, created: int, limit: int
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the `limit` orders with the largest (creation time in ms, id), the new one among them, and their times."""
    history, times = customer.order_history, customer.history_times
    if not history or (created, order_id) > (times[-1], history[-1]):
        return (*history, order_id)[-limit:], (*times, created)[-limit:]
    latest = sorted([*zip(times, history, strict=True), (created, order_id)])[-limit:]
    return tuple(order for _, order in latest), tuple(time for time, _ in latest)
