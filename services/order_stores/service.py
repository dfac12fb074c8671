"""The entry of order-stores in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from order_stores.job import JOB

SERVICE = declare(
    JOB,
    name="order-stores",
    summary="orders, their products' stock and their customers' totals, after every event of an order",
    module="order_stores.job",
    columns="order_stores.columns",
)
