"""The service and the independent replay produce the same outputs for any orders and payments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.producing.base import Options
from forebay.producing.sources import generate
from order_payments.model import Payment, PlacedOrder
from tests.order_payments.harness import START, Outcomes, Shop, outcomes
from tests.order_payments.replay import replay

WITHIN, GRACE = 40, 20
names = st.integers(0, 6).map(str)
times = st.integers(START, START + 300)
amounts = st.sampled_from([-1.0, 5.0, 10.0])
orders = st.builds(PlacedOrder, names, st.just("anna"), amounts, times)
payments = st.builds(Payment, st.integers(0, 30).map(str), names, amounts, st.just("card"), times)


def told_of(records: list[tuple[str, PlacedOrder | Payment]], shop: Shop) -> Outcomes:
    """Return all outputs after all open windows have closed."""
    for key, event in records:
        shop.driver.pipe(key, event, "placed_orders" if isinstance(event, PlacedOrder) else "payments")
    shop.pause(3_600_000)
    return sorted(outcomes(shop.driver.outputs), key=str)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.one_of(orders, payments), st.integers(0, GRACE)), max_size=40), st.sampled_from([1, 3]))
def test_any_records_that_come_within_the_grace(arrived: list[tuple[Any, int]], tasks: int) -> None:
    in_turn = sorted(arrived, key=lambda each: each[0].timestamp + each[1])
    records = [(event.order_id, event) for event, _ in in_turn]
    shop = Shop(tasks, within_ms=WITHIN, grace_ms=GRACE)
    assert told_of(records, shop) == replay(records, WITHIN)
    assert shop.driver.late == []


@pytest.mark.parametrize("tasks", [1, 3])
def test_generated_orders_and_payments_repeated_and_out_of_order(tasks: int) -> None:
    options = Options(count=600, keys=40, out_of_order=0.05, duplicates=0.05, event_rate=5)
    rows = [
        (record.key, record.value) for topic in ("placed_orders", "payments") for record in generate(topic, options)
    ]
    records = sorted(rows, key=lambda each: each[1].timestamp)
    shop = Shop(tasks)
    wanted = replay(records, 600_000)
    assert told_of(records, shop) == wanted
    assert {status for _, status, _ in wanted} == {"PAID", "PARTLY_PAID", "UNPAID"}
    assert shop.driver.duplicates > 20
