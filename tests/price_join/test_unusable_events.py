"""Invalid prices and orders go to .errors and change nothing."""

import math
import re

import pytest

from price_join.model import FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings
from tests.price_join.harness import START, Kitchen


@pytest.mark.parametrize(
    ("topic", "key", "event", "reason"),
    [
        ("menu_prices", "", MenuPrice("", 8, START), "item is empty"),
        ("menu_prices", "soup", MenuPrice("curry", 8, START), "key menu_prices and food_orders by item"),
        ("menu_prices", "curry", MenuPrice("curry", -0.01, START), "price is -0.01: .* 0 or more"),
        ("menu_prices", "curry", MenuPrice("curry", math.nan, START), "price is nan"),
        ("menu_prices", "curry", MenuPrice("curry", math.inf, START), "price is inf"),
        ("food_orders", "", FoodOrder("o", "Anna", "", 1, START), "item is empty"),
        (
            "food_orders",
            "Anna",
            FoodOrder("o", "Anna", "curry", 1, START),
            "item is 'curry' but the record's key is 'A",
        ),
        ("food_orders", "curry", FoodOrder("o", "Anna", "curry", 0, START), "quantity is 0: .* 1 or more"),
        ("food_orders", "curry", FoodOrder("o", "Anna", "curry", -2, START), "quantity is -2"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(
    topic: str, key: str, event: MenuPrice | FoodOrder, reason: str
) -> None:
    kitchen = Kitchen()
    kitchen.price(0, 5)
    assert kitchen.driver.pipe(key, event, topic) == []
    (failure,) = kitchen.driver.errors
    assert failure.headers["error.stage"] == "process"
    assert failure.headers["error.topic"] == topic
    assert failure.key == key.encode()
    assert re.search(reason, failure.headers["error.message"])
    kitchen.driver.errors.clear()
    assert kitchen.order(1, "Bob") == [("Bob", 5)]
    assert kitchen.driver.errors == []


@pytest.mark.parametrize(
    ("topic", "key", "value", "reason"),
    [
        ("menu_prices", b"curry", b"\x02", "bytes"),
        ("menu_prices", None, b"\x02", "key is null"),
        ("menu_prices", None, None, "key is null"),
        ("menu_prices", b"\xff", None, "not UTF-8"),
        ("food_orders", b"curry", b"\x02", "bytes"),
        ("food_orders", b"curry", None, "value is null"),
        ("food_orders", None, b"\x02", "key is null"),
    ],
)
def test_undecodable_records_change_nothing(topic: str, key: bytes | None, value: bytes | None, reason: str) -> None:
    kitchen = Kitchen()
    kitchen.price(0, 5)
    assert kitchen.driver.pipe_bytes(key, value, START, topic) == []
    (failure,) = kitchen.driver.errors
    assert (failure.headers["error.stage"], failure.headers["error.topic"]) == ("decode", topic)
    assert reason in failure.headers["error.message"]
    assert kitchen.order(1, "Bob") == [("Bob", 5)]


def test_a_negative_time_is_an_error() -> None:
    kitchen = Kitchen()
    assert kitchen.driver.pipe("curry", MenuPrice("curry", 8, -1), "menu_prices") == []
    assert "event time -1 is negative" in kitchen.driver.errors[0].headers["error.message"]


def test_a_repeated_order_is_billed_once() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 5)
    assert kitchen.order(1, "Anna", order_id="o-1") == [("Anna", 5)]
    assert kitchen.order(1, "Anna", order_id="o-1") == []
    assert kitchen.driver.duplicates == 1


def test_an_order_of_two_items_is_two_records() -> None:
    kitchen = Kitchen()
    kitchen.price(0, 5)
    kitchen.price(0, 3, "soup")
    assert kitchen.order(1, "Anna", order_id="o-1") == [("Anna", 5)]
    assert kitchen.order(1, "Anna", item="soup", order_id="o-1") == [("Anna", 3)]
    assert kitchen.driver.duplicates == 0


@pytest.mark.parametrize("name", ["history_retention_ms", "grace_ms"])
def test_senseless_settings_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1: use"):
        PriceJoinSettings(**{name: -1})  # type: ignore[arg-type]
