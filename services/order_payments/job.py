"""The job of order-payments."""

from __future__ import annotations

from forebay.builder import job
from order_payments.logic import order_payments
from order_payments.settings import OrderPaymentsSettings

JOB = job(OrderPaymentsSettings, order_payments)
