"""The logic and the independent replay produce the same bills and prices for any input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.producing.base import Options
from forebay.producing.sources import generate
from price_join.model import FoodOrder, MenuPrice
from price_join.settings import Unpriced
from tests.deletes import Delete, pipe_each
from tests.price_join.harness import START, Kitchen
from tests.price_join.replay import Output, final_bills, replay

pytestmark = pytest.mark.long

TOPICS: dict[type[Any], str] = {MenuPrice: "menu_prices", FoodOrder: "food_orders"}
ITEMS = ["curry", "soup", ""]
items = st.sampled_from(ITEMS)
times = st.integers(START, START + 300)
prices = st.builds(MenuPrice, items, st.sampled_from([-1.0, 0.0, 2.5, 8.0, 10.0]), times)
orders = st.builds(FoodOrder, st.integers(0, 12).map(str), st.just("ann"), items, st.integers(0, 3), times)
events = st.one_of(prices, orders)
deletes = st.builds(Delete, st.just("menu_prices"), times)

Event = MenuPrice | FoodOrder | Delete


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(events.map(lambda event: (event.item, event)), st.tuples(items, events), st.tuples(items, deletes)),
        max_size=50,
    ),
    st.sampled_from([0, 30, 100, 600_000]),
    st.sampled_from([0, 1, 30, 100]),
    st.sampled_from(Unpriced),
    st.sampled_from([0, 50, 600_000]),
)
def test_same_bills_and_prices(
    arrived: list[tuple[str, Event]],
    history_retention_ms: int,
    grace_ms: int,
    join: Unpriced,
    dedupe_retention_ms: int,
) -> None:
    grace_ms = min(grace_ms, history_retention_ms)
    kitchen = Kitchen(dedupe_retention_ms, history_retention_ms=history_retention_ms, grace_ms=grace_ms, join=join)
    records = pipe_each(kitchen.driver, arrived, TOPICS)
    until = None
    if kitchen.driver.stream_time >= 0:
        kitchen.pause(20)
        until = kitchen.driver.stream_time + 20
    bills, stores = replay(records, history_retention_ms, grace_ms, join.value, dedupe_retention_ms, until)
    assert kitchen.results() == bills
    assert kitchen.history(*stores["menu-prices"]) == stores["menu-prices"]


def test_generated_prices_and_orders_late_and_repeated() -> None:
    options = Options(count=1000, keys=40, out_of_order=0.2, duplicates=0.05, event_rate=20)
    prices, orders = generate("menu_prices", options), generate("food_orders", options)
    arrived: list[tuple[str, Event]] = [
        (event.key, event.value) for pair in zip(prices, orders, strict=True) for event in pair
    ]
    for grace_ms in (0, 3000):
        kitchen = Kitchen(grace_ms=grace_ms)
        records = pipe_each(kitchen.driver, arrived, TOPICS)
        bills, stores = replay(records, grace_ms=grace_ms)
        assert kitchen.results() == bills
        assert kitchen.history(*stores["menu-prices"]) == stores["menu-prices"]
        assert len(bills) > 850
        assert kitchen.driver.duplicates > 30
        assert not kitchen.driver.errors


def test_grace_applies_prices_that_arrive_late() -> None:
    options = Options(count=1200, keys=8, out_of_order=0.3, event_rate=20)
    prices, orders = generate("menu_prices", options), generate("food_orders", options)
    arrived: list[tuple[str, Event]] = [
        (event.key, event.value) for pair in zip(prices, orders, strict=True) for event in pair
    ]
    hasty, patient = Kitchen(), Kitchen(grace_ms=11_000)
    for kitchen in (hasty, patient):
        records = pipe_each(kitchen.driver, arrived, TOPICS)
        kitchen.pause(11_000)
    right = totals(final_bills(records))
    assert totals(patient.results()) == right
    hastily = totals(hasty.results())
    assert sum(hastily.get(order_id) != total for order_id, total in right.items()) > 20


def totals(bills: list[Output]) -> dict[str, float]:
    return {bill["order_id"]: bill["total"] for _, bill, _ in bills}
