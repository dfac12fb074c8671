"""A customer's orders are counted when they are created and when they are paid, and the latest ones are stored."""

import itertools
from decimal import Decimal

import pytest

from tests.order_stores.harness import START, driver, lifecycle, pipe


def test_created_increments_orders_and_paid_adds_the_amount() -> None:
    results = lifecycle(driver(), "created", "paid", "shipped", "delivered")
    assert [r.customer_orders for r in results] == [1, 1, 1, 1]
    assert [r.customer_total_spent for r in results] == [0, Decimal("59.97"), Decimal("59.97"), Decimal("59.97")]


def test_cancelling_a_paid_order_does_not_refund() -> None:
    result = lifecycle(driver(), "created", "paid", "cancelled")[-1]
    assert (result.customer_orders, result.customer_total_spent) == (1, Decimal("59.97"))


@pytest.mark.parametrize(
    ("price", "quantity", "total"),
    [
        (0.1, 3, "0.3"),
        (Decimal("0.1"), 3, "0.3"),
        (Decimal("0.000001"), 1, "0.000001"),
        (1e-6, 7, "0.000007"),
        (1 / 3, 3, "0.999999"),
        (0.0, 5, "0"),
        (Decimal("999999999.999999"), 1_000_000_000, "999999999999999000"),
        (1e9, 1_000_000_000, "1000000000000000000"),
    ],
)
def test_money_is_exact(price: float | Decimal, quantity: int, total: str) -> None:
    task = driver()
    pipe(task, "created", price=price, quantity=quantity)
    assert pipe(task, "paid").customer_total_spent == Decimal(total)


def test_sums_of_cents_are_exact() -> None:
    task = driver()
    for number in range(100):
        pipe(task, "created", order_id=f"o{number}", price=0.01, quantity=10)
        result = pipe(task, "paid", order_id=f"o{number}")
    assert result.customer_total_spent == 10


@pytest.mark.parametrize(
    ("order_id", "customer"),
    [("123456789", "cust_003"), ("o1", "cust_002"), ("o2", "cust_004"), ("order-é", "cust_001"), ("x", "cust_004")],
)
@pytest.mark.parametrize("absent", [None, ""])
def test_order_without_a_customer_is_assigned_one_of_four(order_id: str, customer: str, absent: str | None) -> None:
    task = driver()
    assert pipe(task, "created", order_id=order_id, customer_id=absent).customer_id == customer
    assert list(task.store("customers")) == [customer]


def test_the_history_holds_the_latest_ten() -> None:
    task = driver()
    for number in range(12):
        pipe(task, "created", number, order_id=f"o{number}")
    customer = task.store("customers")["ann"]
    assert customer.order_history == tuple(f"o{number}" for number in range(2, 12))
    assert customer.history_times == tuple(START + number for number in range(2, 12))
    assert customer.total_orders == 12


def test_the_history_does_not_depend_on_the_order_of_arrival() -> None:
    created = [("b", 10), ("a", 10), ("d", 5), ("c", 20)]
    for arrived in itertools.permutations(created):
        task = driver(history_limit=3)
        for order_id, at in arrived:
            pipe(task, "created", at, order_id=order_id)
        assert task.store("customers")["ann"].order_history == ("a", "b", "c")


def test_orders_of_one_customer_for_different_products_add_up() -> None:
    task = driver()
    pipe(task, "created", order_id="o1", product_id="lamp")
    pipe(task, "created", order_id="o2", product_id="desk")
    assert pipe(task, "created", order_id="o3", customer_id="bob").customer_orders == 1
    assert pipe(task, "paid", order_id="o2").customer_orders == 2
