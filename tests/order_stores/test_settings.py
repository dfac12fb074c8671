"""Settings are checked, and an order with a thousand events costs no more than any other."""

import pytest

from order_stores.settings import OrderStoresSettings
from tests.order_stores.harness import driver, pipe, step, stores


@pytest.mark.parametrize(("name", "value"), [("initial_stock", -1), ("history_limit", 0), ("history_limit", 1001)])
def test_senseless_settings_are_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}: use"):
        OrderStoresSettings(**{name: value})


def test_state_size_does_not_grow_with_the_events_of_an_order() -> None:
    task = driver()
    statuses = ("created", "paid", "shipped", "delivered")
    for status in statuses:
        pipe(task, status)
    before = stores(task)
    task.run_batch([("o1", step(statuses[number % 4], number)) for number in range(1000)])
    assert stores(task) == before
    assert len(task.errors) == 1000
