"""Orders and payments within ten minutes are joined. An unmatched record is reported once, after the grace period."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from order_payments.settings import OrderPaymentsSettings
from tests.order_payments.harness import MINUTE, START, Outcomes, Shop


def test_order_and_payment_are_joined_in_either_order() -> None:
    shop = Shop()
    assert shop.order(0, "o-1") == []
    assert shop.pay(10 * MINUTE, "o-1") == [("o-1", "PAID", "p-1")]
    assert shop.pay(10 * MINUTE, "o-2") == []
    assert shop.order(11 * MINUTE, "o-2") == [("o-2", "PAID", "p-2")]
    assert shop.driver.outputs[-1].timestamp == START + 11 * MINUTE


def test_order_and_payment_more_than_ten_minutes_apart_are_not_joined() -> None:
    shop = Shop()
    shop.order(0, "o-1")
    assert shop.pay(10 * MINUTE + 1, "o-1") == []


def test_unpaid_order_is_emitted_after_window_and_grace() -> None:
    shop = Shop()
    shop.order(0, "o-1")
    assert shop.order(11 * MINUTE, "o-2") == []
    assert shop.order(11 * MINUTE + 1, "o-3") == [("o-1", "UNPAID", None)]
    assert shop.driver.outputs[-1].timestamp == START


def test_unpaid_order_is_emitted_once_on_an_idle_topic_after_a_restart() -> None:
    shop = Shop()
    shop.order(0, "o-1")
    assert shop.pause(11 * MINUTE) == []
    shop.driver.restart()
    assert shop.pause(11 * MINUTE) == [], "idle time counts from the start"
    assert shop.pause(1) == [("o-1", "UNPAID", None)]
    assert shop.pause(100 * MINUTE) == []


def test_a_payment_in_the_grace_counts() -> None:
    shop = Shop()
    shop.order(0, "o-1")
    shop.order(11 * MINUTE, "o-2")
    assert shop.pay(9 * MINUTE, "o-1") == [("o-1", "PAID", "p-1")]
    assert shop.pause(1) == []


def test_a_payment_of_less_is_reported() -> None:
    shop = Shop()
    shop.order(0, "o-1", amount=20)
    assert shop.pay(1, "o-1", amount=19.99) == [("o-1", "PARTLY_PAID", "p-1")]
    assert shop.pay(2, "o-1", amount=20) == [("o-1", "PAID", "p-2")]


def test_a_payment_without_an_order_gives_nothing() -> None:
    shop = Shop()
    shop.pay(0, "o-1")
    assert shop.pause(100 * MINUTE) == []


@pytest.mark.parametrize("name", ["within_ms", "grace_ms"])
def test_senseless_settings_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1: use 0 or a positive number of ms"):
        OrderPaymentsSettings(**{name: -1})


steps = st.tuples(st.sampled_from(["order", "pay"]), st.sampled_from(["a", "b", "c", "d"]), st.integers(0, 40))


@settings(deadline=None, max_examples=100)
@given(st.lists(steps, max_size=25), st.integers(0, 10), st.integers(1, 3))
def test_each_pair_and_each_unpaid_order_is_emitted_once(
    script: list[tuple[str, str, int]], within_ms: int, tasks: int
) -> None:
    """If the grace exceeds the delays of records, the results equal a comparison of all pairs of both topics."""
    shop = Shop(tasks, within_ms=within_ms, grace_ms=50)
    orders: dict[str, int] = {}
    payments: list[tuple[str, int]] = []
    results: Outcomes = []
    for what, order_id, at in script:
        if what == "pay":
            payments.append((order_id, at))
            results += shop.pay(at, order_id)
        elif order_id not in orders:
            orders[order_id] = at
            results += shop.order(at, order_id)
    results += shop.pause(1_000)
    pairs = [
        (order_id, "PAID", f"p-{number}")
        for number, (order_id, at) in enumerate(payments, 1)
        if order_id in orders and abs(at - orders[order_id]) <= within_ms
    ]
    paid = {order_id for order_id, _, _ in pairs}
    alone = [(order_id, "UNPAID", None) for order_id in orders if order_id not in paid]
    assert sorted(results, key=str) == sorted([*pairs, *alone], key=str)
