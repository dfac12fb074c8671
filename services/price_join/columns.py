"""The columns of price-join's results in the demo."""

from __future__ import annotations

from forebay.demo.columns import Column, clock, money

COLUMNS = {
    "food_bills": (
        Column("order", "order_id", 12),
        Column("customer", "customer", 12),
        Column("item", "item", 14),
        Column("quantity", "quantity", 8),
        Column("price", "unit_price", 8, money),
        Column("total", "total", 9, money),
        Column("price of", "price_valid_from", 8, clock),
    ),
}
