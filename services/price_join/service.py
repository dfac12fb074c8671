"""The entry of price-join in the table of services."""

from __future__ import annotations

from forebay.declaration import declare
from price_join.job import JOB

SERVICE = declare(
    JOB,
    name="price-join",
    summary="bills of orders at the price each item had when it was ordered",
    module="price_join.job",
    columns="price_join.columns",
)
