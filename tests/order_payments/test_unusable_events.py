"""Invalid orders and payments go to .errors and change nothing."""

from __future__ import annotations

import math
import re

import pytest

from order_payments.model import Payment, PlacedOrder
from tests.order_payments.harness import START, Shop


@pytest.mark.parametrize(
    ("topic", "key", "event", "reason"),
    [
        ("placed_orders", "", PlacedOrder("", "anna", 1.0, START), "order_id is empty"),
        ("placed_orders", "x", PlacedOrder("o", "anna", 1.0, START), "key placed_orders and payments by order_id"),
        ("placed_orders", "o", PlacedOrder("o", "anna", 0.0, START), "amount is 0.0: .* more than 0"),
        ("payments", "o", Payment("p", "o", math.inf, None, START), "amount is inf"),
        ("payments", "o", Payment("p", "o", math.nan, None, START), "amount is nan"),
        ("payments", "o", Payment("p", "q", 1.0, None, START), "order_id is 'q' but the record's key is 'o'"),
    ],
)
def test_rejected_with_the_reason_and_without_effect(
    topic: str, key: str, event: PlacedOrder | Payment, reason: str
) -> None:
    shop = Shop()
    assert shop.driver.pipe(key, event, topic) == []
    (failure,) = shop.driver.errors
    assert (failure.headers["error.stage"], failure.headers["error.topic"]) == ("process", topic)
    assert re.search(reason, failure.headers["error.message"])
    assert shop.pause(10**9) == []


@pytest.mark.parametrize("topic", ["placed_orders", "payments"])
@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [(b"o", b"\x02", "bytes"), (b"o", None, "value is null"), (None, b"\x02", "key is null"), (b"\xff", b"", "UTF-8")],
)
def test_undecodable_records_change_nothing(topic: str, key: bytes | None, value: bytes | None, reason: str) -> None:
    shop = Shop()
    assert shop.driver.pipe_bytes(key, value, START, topic) == []
    (failure,) = shop.driver.errors
    assert (failure.headers["error.stage"], failure.key, failure.value) == ("decode", key, value)
    assert reason in failure.headers["error.message"]


def test_repetitions_change_nothing_and_an_order_and_a_payment_may_have_the_same_id() -> None:
    shop = Shop()
    shop.order(0, "o-1")
    shop.order(0, "o-1")
    assert shop.pay(1, "o-1", payment_id="o-1") == [("o-1", "PAID", "o-1")]
    assert shop.pay(1, "o-1", payment_id="o-1") == []
    assert shop.driver.duplicates == 2
