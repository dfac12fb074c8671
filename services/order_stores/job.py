"""The job of order-stores."""

from __future__ import annotations

from forebay.job import Job, Stage
from order_stores.logic import Customers, Orders, Products
from order_stores.model import CustomerStep, OrderEvent, OrderProcessingResult, ProductStep
from order_stores.settings import OrderStoresSettings

JOB = Job(
    inputs={"order_events": OrderEvent},
    outputs={"order_processing_results": OrderProcessingResult},
    settings=OrderStoresSettings,
    table_outputs=frozenset({"order_processing_results"}),
    processor=Orders,
    then=(
        Stage("products", ProductStep, Products),
        Stage("customers", CustomerStep, Customers),
    ),
)
