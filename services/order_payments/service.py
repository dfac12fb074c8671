"""The declaration of the service order-payments."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="order-payments",
    summary="each order with its payments, and orders that were not paid in time",
    job="order_payments.job",
)
