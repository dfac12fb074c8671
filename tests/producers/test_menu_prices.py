"""A menu opens item by item; then its prices change, mostly by a little."""

from collections import defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from price_join.model import MenuPrice

ITEMS = 200


@pytest.fixture(scope="module")
def events() -> list[Event[MenuPrice]]:
    return list(generate("menu_prices", Options(count=10_000, keys=ITEMS)))


@pytest.fixture(scope="module")
def prices(events: list[Event[MenuPrice]]) -> dict[str, list[float]]:
    prices: dict[str, list[float]] = defaultdict(list)
    for event in events:
        prices[event.key].append(event.value.price)
    return prices


def test_records_are_keyed_by_item_at_their_time(events: list[Event[MenuPrice]]) -> None:
    assert all(event.key == event.value.item for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)


def test_every_item_gets_its_first_price_in_turn(events: list[Event[MenuPrice]]) -> None:
    assert len({event.key for event in events[:ITEMS]}) == ITEMS
    assert {event.key for event in events} == {event.key for event in events[:ITEMS]}


def test_prices_are_those_of_a_restaurant_in_quarters(prices: dict[str, list[float]]) -> None:
    every = [price for of_item in prices.values() for price in of_item]
    assert all(1 <= price <= 100 for price in every)
    assert all((price * 4).is_integer() for price in every)
    first = sorted(of_item[0] for of_item in prices.values())
    assert 9 < first[len(first) // 2] < 13
    assert first[-1] > 2 * first[0]


def test_prices_change_up_more_than_down_and_by_little(prices: dict[str, list[float]]) -> None:
    changes = [after - before for of_item in prices.values() for before, after in pairwise(of_item)]
    ups = sum(change > 0 for change in changes)
    downs = sum(change < 0 for change in changes)
    assert ups > downs > 0.3 * len(changes)
    assert max(map(abs, changes)) == 2
    assert sum(abs(change) <= 0.5 for change in changes) > 0.7 * len(changes)


def test_the_same_options_give_the_same_menu_and_another_seed_another() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1)
    assert list(generate("menu_prices", options)) == list(generate("menu_prices", options))
    assert list(generate("menu_prices", options)) != list(generate("menu_prices", Options(count=300, keys=20, seed=2)))


def test_late_prices_come_when_asked_for() -> None:
    events = list(generate("menu_prices", Options(count=1000, keys=20, out_of_order=0.2)))
    assert sum(after.timestamp < before.timestamp for before, after in pairwise(events)) > 50
