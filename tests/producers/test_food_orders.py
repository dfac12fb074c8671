"""Guests order what is on the menu, some dishes far more than others."""

from collections import Counter
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from price_join.model import FoodOrder

ITEMS = 100


@pytest.fixture(scope="module")
def events() -> list[Event[FoodOrder]]:
    return list(generate("food_orders", Options(count=10_000, keys=ITEMS)))


def test_records_are_keyed_by_item_at_their_time(events: list[Event[FoodOrder]]) -> None:
    assert all(event.key == event.value.item for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)


def test_order_ids_differ_from_order_to_order_and_run_to_run(events: list[Event[FoodOrder]]) -> None:
    ids = {event.value.order_id for event in events}
    assert len(ids) == len(events)
    assert not ids & {event.value.order_id for event in generate("food_orders", Options(count=500, start_ms=7))}
    assert not ids & {event.value.order_id for event in generate("food_orders", Options(count=500, seed=2))}


def test_every_item_is_ordered_and_some_much_more_often(events: list[Event[FoodOrder]]) -> None:
    counts = Counter(event.key for event in events).most_common()
    assert len(counts) == ITEMS
    assert counts[0][1] > 5 * counts[ITEMS // 2][1]


def test_quantities_are_small_mostly(events: list[Event[FoodOrder]]) -> None:
    quantities = Counter(event.value.quantity for event in events)
    assert min(quantities) == 1
    assert max(quantities) == 10
    assert quantities[1] > quantities[2] > quantities[4] > 0


def test_hundreds_of_guests_order(events: list[Event[FoodOrder]]) -> None:
    assert 400 < len({event.value.customer for event in events}) <= 500


def test_ordered_items_already_have_a_price() -> None:
    options = Options(count=1000, keys=300)
    priced: set[str] = set()
    for order, price in zip(generate("food_orders", options), generate("menu_prices", options), strict=True):
        assert order.key in priced or not priced
        priced.add(price.key)


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_handful_of_items_is_enough(keys: int) -> None:
    assert len({event.key for event in generate("food_orders", Options(count=200, keys=keys))}) == keys


def test_the_same_options_give_the_same_orders() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    assert list(generate("food_orders", options)) == list(generate("food_orders", options))


def test_late_orders_come_when_asked_for() -> None:
    events = list(generate("food_orders", Options(count=1000, keys=20, out_of_order=0.2)))
    assert sum(after.timestamp < before.timestamp for before, after in pairwise(events)) > 50
