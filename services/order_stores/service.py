"""The declaration of the service order-stores."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="order-stores",
    summary="orders, their products' stock and their customers' totals, after every event of an order",
    job="order_stores.job",
    columns="order_stores.columns",
)
