"""The job of price-join."""

from __future__ import annotations

from forebay.builder import job
from price_join.logic import price_join
from price_join.settings import PriceJoinSettings

JOB = job(PriceJoinSettings, price_join)
