"""A shop's orders and payments go together: most orders are paid, some in parts, some never."""

from __future__ import annotations

from collections import Counter

import pytest

from forebay.producing.base import Options
from forebay.producing.sources import generate

OPTIONS = Options(count=5_000, keys=300)


@pytest.mark.parametrize("topic", ["placed_orders", "payments"])
def test_records_are_keyed_by_order_at_their_time(topic: str) -> None:
    for event in generate(topic, OPTIONS):
        assert (event.key, event.timestamp) == (event.value.order_id, event.value.timestamp)


def test_ids_differ_from_event_to_event_and_from_run_to_run() -> None:
    orders = {event.value.order_id for event in generate("placed_orders", OPTIONS)}
    payments = {event.value.payment_id for event in generate("payments", OPTIONS)}
    assert len(orders) == len(payments) == OPTIONS.count
    assert not orders & {event.value.order_id for event in generate("placed_orders", Options(count=500, start_ms=7))}


def test_most_orders_are_paid_some_in_parts_and_some_never() -> None:
    amounts = {event.key: event.value.amount for event in generate("placed_orders", OPTIONS)}
    payments = [event.value for event in generate("payments", OPTIONS)]
    assert {payment.order_id for payment in payments} <= amounts.keys()
    unpaid = len(amounts) - len({payment.order_id for payment in payments})
    assert 0.05 < unpaid / len(amounts) < 0.12
    in_full = Counter(payment.amount == amounts[payment.order_id] for payment in payments)
    assert in_full[True] > 6 * in_full[False] > 0


def test_the_same_options_give_the_same_payments() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    assert list(generate("payments", options)) == list(generate("payments", options))


@pytest.mark.parametrize("rate", [100, 300, 5_000])
def test_producers_that_begin_at_different_moments_speak_of_the_same_orders(rate: int) -> None:
    begins = 1_800_000_000_003
    orders = Options(rate=rate, count=3_000, start_ms=begins)
    payments = Options(rate=rate, count=3_000, start_ms=begins + 237)
    placed = {event.value.order_id for event in generate("placed_orders", orders)}
    paid = Counter(event.value.order_id in placed for event in generate("payments", payments))
    missed = rate * 0.237 + 2
    assert paid[False] <= missed
    assert paid[True] >= 3_000 - missed


def test_a_producer_that_begins_again_places_other_orders() -> None:
    first, second = (
        {event.value.order_id for event in generate("placed_orders", Options(rate=100, count=500, start_ms=start))}
        for start in (1_800_000_000_000, 1_800_000_005_001)
    )
    assert len(first & second) <= 1
