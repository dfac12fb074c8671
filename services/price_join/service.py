"""The declaration of the service price-join."""

from __future__ import annotations

from forebay.declaration import declare

SERVICE = declare(
    name="price-join",
    summary="bills of orders at the price each item had when it was ordered",
    job="price_join.job",
    columns="price_join.columns",
)
