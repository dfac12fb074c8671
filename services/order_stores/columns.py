"""The columns of order-stores' results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column, money

COLUMNS = {
    "order_processing_results": (
        Column("order", "order_id", 12),
        Column("status", "status", 9),
        Column("customer", "customer_id", 10),
        Column("orders", "customer_orders", 6),
        Column("spent", "customer_total_spent", 11, money),
        Column("product", "product_id", 10),
        Column("left", "stock_left", 6),
        Column("reserved", "reserved", 8),
        Column("sold", "sold", 6),
    ),
}
