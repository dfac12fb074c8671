"""Orders run through their lifecycles, for products of different popularity, by returning customers."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from order_stores.model import OrderEvent

MOVES = {
    ("created", "paid"),
    ("created", "cancelled"),
    ("paid", "shipped"),
    ("paid", "cancelled"),
    ("shipped", "delivered"),
}


@pytest.fixture(scope="module")
def events() -> list[Event[OrderEvent]]:
    return list(generate("order_events", Options(count=40_000, keys=1000, event_rate=100)))


@pytest.fixture(scope="module")
def orders(events: list[Event[OrderEvent]]) -> dict[str, list[OrderEvent]]:
    orders: dict[str, list[OrderEvent]] = defaultdict(list)
    for event in events:
        orders[event.key].append(event.value)
    return orders


def test_every_field_makes_sense(events: list[Event[OrderEvent]]) -> None:
    for event in events:
        value = event.value
        assert event.key == value.order_id
        assert event.timestamp == value.timestamp
        assert value.product_id
        assert 1 <= value.quantity <= 25
        assert value.price > 0
        assert value.price == round(value.price, 2)
    assert len({event.value.event_id for event in events}) == len(events)


def test_every_order_keeps_to_the_lifecycle(orders: dict[str, list[OrderEvent]]) -> None:
    for steps in orders.values():
        assert steps[0].status == "created"
        assert {(a.status, b.status) for a, b in pairwise(steps)} <= MOVES


def test_most_orders_are_delivered_and_some_cancelled(orders: dict[str, list[OrderEvent]]) -> None:
    ends = Counter(steps[-1].status for steps in orders.values())
    closed = ends["delivered"] + ends["cancelled"]
    assert closed > 0.8 * len(orders)
    assert 0.08 < ends["cancelled"] / closed < 0.16
    cancelled = Counter(steps[-2].status for steps in orders.values() if steps[-1].status == "cancelled")
    assert cancelled["created"] > cancelled["paid"] > 0


def test_the_facts_of_an_order_stay(orders: dict[str, list[OrderEvent]]) -> None:
    for steps in orders.values():
        assert len({(step.product_id, step.quantity, step.price, step.customer_id) for step in steps}) == 1


def test_a_product_has_one_price_and_few_products_are_in_most_orders(orders: dict[str, list[OrderEvent]]) -> None:
    prices = defaultdict(set)
    for steps in orders.values():
        prices[steps[0].product_id].add(steps[0].price)
    assert {len(price) for price in prices.values()} == {1}
    counts = Counter(steps[0].product_id for steps in orders.values())
    assert len(counts) == 200
    assert counts.most_common(1)[0][1] > 20 * sorted(counts.values())[100]


def test_all_customers_order_some_more_often_and_some_orders_name_none(orders: dict[str, list[OrderEvent]]) -> None:
    counts = Counter(steps[0].customer_id for steps in orders.values())
    assert 0.06 < counts.pop(None) / len(orders) < 0.1
    assert len(counts) == 1000
    assert max(counts.values()) > 5 * sorted(counts.values())[500]


def test_quantities_are_mostly_small(orders: dict[str, list[OrderEvent]]) -> None:
    quantities = Counter(steps[0].quantity for steps in orders.values())
    assert quantities[1] + quantities[2] > 0.6 * len(orders)
    assert max(quantities) > 8


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_handful_of_customers_is_enough(keys: int) -> None:
    results = {event.value.customer_id for event in generate("order_events", Options(count=2000, keys=keys))}
    assert len(results - {None}) == keys


def test_a_second_run_makes_other_orders() -> None:
    first = {event.key for event in generate("order_events", Options(count=300, start_ms=1000))}
    second = {event.key for event in generate("order_events", Options(count=300, start_ms=2000))}
    assert not first & second


def test_damaged_records_leave_gaps_in_lifecycles_as_lost_ones_do() -> None:
    events = list(generate("order_events", Options(count=5000, keys=100, malformed=0.05)))
    steps: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event.defect is None:
            steps[event.key].append(event.value.status)
    gaps = [moves for moves in steps.values() if not set(pairwise(moves)) <= MOVES]
    assert gaps
