"""The entry of order-payments in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from order_payments.job import JOB

SERVICE = declare(
    JOB,
    name="order-payments",
    summary="each order with its payments, and orders that nobody paid in time",
    module="order_payments.job",
)
