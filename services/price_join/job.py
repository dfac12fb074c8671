"""The wiring of price-join."""

from __future__ import annotations

from forebay.job import Job
from price_join.logic import PriceJoin
from price_join.model import FoodBill, FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings

JOB = Job(
    inputs={"menu_prices": MenuPrice, "food_orders": FoodOrder},
    outputs={"food_bills": FoodBill},
    settings=PriceJoinSettings,
    processor=PriceJoin,
    tables=frozenset({"menu_prices"}),
)
