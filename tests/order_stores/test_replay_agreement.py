"""The whole service and the independent replay produce the same results and stores for any input."""

from collections.abc import Iterable
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from forebay.testing import TestDriver
from order_stores.model import OrderEvent, Status
from tests.order_stores.harness import START, driver, stores
from tests.order_stores.replay import Output, Record, refusals, replay
from tests.plain import plain

pytestmark = pytest.mark.long

statuses = st.sampled_from([*Status.__members__.values(), "lost"]).map(str)
prices = st.one_of(
    st.floats(0, 1000), st.decimals(-1, 1000, places=6, allow_nan=False), st.sampled_from([-1.0, 1e10, 0.1])
)
events = st.builds(
    OrderEvent,
    event_id=st.one_of(st.none(), st.integers(0, 30).map(str)),
    order_id=st.just(""),
    status=statuses,
    product_id=st.sampled_from(["lamp", "desk", "lamp", ""]),
    quantity=st.sampled_from([0, 1, 2, 60]),
    price=prices,
    customer_id=st.sampled_from(["ann", "bob", "ann", "", None]),
    timestamp=st.integers(START, START + 500),
)
inputs = st.lists(st.tuples(st.sampled_from(["o1", "o2", "o3", ""]), events), max_size=60)


def of_order(order_id: str, event: OrderEvent) -> OrderEvent:
    return msgspec.structs.replace(event, order_id=order_id)


def results(of: TestDriver) -> list[Output]:
    return [(output.key, plain(output.value), output.timestamp) for output in of.outputs]


def as_replayed(events: Iterable[Event[OrderEvent]]) -> list[Record]:
    return [(event.key, plain(event.value), event.timestamp) for event in events]


@settings(deadline=None, max_examples=60)
@given(inputs, st.integers(0, 70), st.integers(1, 4), st.sampled_from([0, 50, 600_000]))
def test_same_results_and_stores(
    records: list[tuple[str, OrderEvent]], initial_stock: int, history_limit: int, dedupe_retention_ms: int
) -> None:
    remembered = {"dedupe_retention_ms": dedupe_retention_ms}
    task = driver(engine=remembered, initial_stock=initial_stock, history_limit=history_limit)
    arrived = [(key, of_order(key, event)) for key, event in records]
    for key, event in arrived:
        task.pipe(key, event)
    outputs, states = replay(
        [(key, plain(event), event.timestamp) for key, event in arrived],
        initial_stock,
        history_limit,
        dedupe_retention_ms,
    )
    assert results(task) == outputs
    assert stores(task) == states


def test_generated_orders_late_and_repeated() -> None:
    options = Options(count=4000, keys=60, out_of_order=0.1, duplicates=0.05, event_rate=20)
    arrived = list(generate("order_events", options))
    task = driver()
    for start in range(0, len(arrived), 500):
        task.run_batch([(event.key, event.value) for event in arrived[start : start + 500]])
    outputs, states = replay(as_replayed(arrived))
    assert results(task) == outputs
    assert stores(task) == states
    assert task.duplicates > 100
    assert len(task.errors) == len(refusals(as_replayed(arrived))) > 0
    assert all(isinstance(customer.total_spent, Decimal) for customer in task.store("customers").values())
