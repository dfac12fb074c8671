"""A price record without a value removes its item from the menu as of the record's time."""

import pytest

from price_join.settings import Unpriced
from tests.price_join.harness import START, Kitchen


def test_an_item_taken_off_the_menu_has_no_price_from_then_on() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    assert kitchen.take_off(10) == []
    assert kitchen.order(9, "Anna") == [("Anna", 8)]
    assert kitchen.order(10, "Bob") == []
    assert kitchen.history("curry") == {"curry": [(START, 8, START + 10)]}


def test_left_join_bills_a_deleted_item_without_a_price() -> None:
    kitchen = Kitchen(join=Unpriced.LEFT)
    kitchen.price(0, 8)
    kitchen.take_off(10)
    assert kitchen.order(11, "Bob") == [("Bob", None)]


def test_deleted_item_returns_with_its_next_price() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.take_off(10)
    kitchen.price(20, 9)
    assert kitchen.order(20, "Anna") == [("Anna", 9)]
    assert kitchen.order(15, "Bob") == []


def test_a_late_delete_ends_only_the_price_before_it() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.price(20, 9)
    kitchen.take_off(10)
    assert kitchen.order(5, "Anna") == [("Anna", 8)]
    assert kitchen.order(15, "Bob") == []
    assert kitchen.order(25, "Candace") == [("Candace", 9)]


def test_waiting_order_sees_a_delete_that_arrives_during_the_grace() -> None:
    kitchen = Kitchen(grace_ms=100)
    kitchen.price(0, 8)
    assert kitchen.order(20, "Anna") == []
    kitchen.take_off(10)
    assert kitchen.order(5, "Bob") == []
    assert kitchen.pause(200) == [("Bob", 8)]


def test_delete_does_not_release_waiting_orders() -> None:
    kitchen = Kitchen(grace_ms=100)
    kitchen.price(0, 8)
    kitchen.order(20, "Anna")
    assert kitchen.take_off(120, "soup") == []
    assert kitchen.order(120, "Bob", item="soup") == [("Anna", 8)]


def test_delete_older_than_the_history_is_late() -> None:
    kitchen = Kitchen(history_retention_ms=50)
    kitchen.price(100, 8)
    kitchen.take_off(49)
    (late,) = kitchen.driver.late
    assert (late.value, late.headers["late.by_ms"]) == (None, "1")
    assert kitchen.order(100, "Anna") == [("Anna", 8)]


@pytest.mark.parametrize("unknown", ["soup", ""])
def test_an_unknown_item_may_be_deleted(unknown: str) -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    assert kitchen.take_off(10, unknown) == []
    assert kitchen.order(10, "Anna") == [("Anna", 8)]
    assert kitchen.driver.errors == []


def test_delete_survives_a_restart() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 8)
    kitchen.take_off(10)
    kitchen.driver.restart()
    assert kitchen.order(10, "Bob") == []
    assert kitchen.order(9, "Anna") == [("Anna", 8)]
