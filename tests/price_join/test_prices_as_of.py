"""An order is joined with the price as of its own time, whichever record arrives first."""

import pytest

from tests.price_join.harness import START, Kitchen


@pytest.mark.parametrize(("at", "total"), [(9, None), (10, 8), (19, 8), (20, 12), (1000, 12)])
def test_a_price_holds_from_its_time_on(at: int, total: float | None) -> None:
    kitchen = Kitchen()
    kitchen.price(10, 8)
    kitchen.price(20, 12)
    assert kitchen.order(at, "Anna") == ([] if total is None else [("Anna", total)])


def test_bill_contains_the_order_and_the_start_of_its_price() -> None:
    kitchen = Kitchen()
    kitchen.price(10, 2.25)
    kitchen.order(15, "Anna", 3, order_id="o-1")
    bill = {"order_id": "o-1", "customer": "Anna", "item": "curry", "quantity": 3}
    priced = {"unit_price": 2.25, "total": 6.75, "price_valid_from": START + 10}
    assert kitchen.results() == [("curry", bill | priced, START + 15)]


def test_a_late_price_is_put_between_its_neighbours() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.price(20, 12)
    kitchen.price(10, 10)
    assert kitchen.order(15, "Anna") == [("Anna", 10)]
    assert kitchen.order(20, "Bob") == [("Bob", 12)]


def test_price_with_an_equal_timestamp_replaces_the_previous_price() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.price(0, 9)
    assert kitchen.order(0, "Anna") == [("Anna", 9)]
    assert kitchen.history("curry") == {"curry": [(START, 9, None)]}


def test_price_does_not_emit_or_correct_bills() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.order(5, "Anna")
    assert kitchen.price(3, 10) == []
    assert [output.value.total for output in kitchen.driver.outputs] == [8]


def test_items_have_prices_of_their_own() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8, "curry")
    kitchen.price(0, 3, "soup")
    assert kitchen.order(1, "Anna", item="soup") == [("Anna", 3)]
    assert kitchen.order(1, "Bob", item="noodles") == []


def test_price_of_zero_is_valid() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 0)
    assert kitchen.order(1, "Anna") == [("Anna", 0)]
