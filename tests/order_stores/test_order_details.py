"""Product, quantity, price and customer are those of `created`, so that the reserved items are sold or released."""

from decimal import Decimal
from typing import Any

import pytest

from order_stores.model import Customer, ProductStock
from tests.order_stores.harness import START, driver, pipe

OTHER: dict[str, Any] = {"product_id": "desk", "quantity": 50, "price": 1.0, "customer_id": "bob"}


@pytest.mark.parametrize("end", [("paid", "shipped"), ("cancelled",), ("paid", "cancelled")])
@pytest.mark.parametrize("field", [*OTHER, "customer_id to null"])
def test_later_events_with_other_values_do_not_change_it(end: tuple[str, ...], field: str) -> None:
    fields = {field: OTHER[field]} if field in OTHER else {"customer_id": None}
    contradicted, consistent = driver(), driver()
    for task, differing in ((contradicted, fields), (consistent, {})):
        pipe(task, "created")
        for at, status in enumerate(end, 1):
            pipe(task, status, at, **differing)
    assert contradicted.outputs == consistent.outputs
    for name in ("orders", "inventory", "customers"):
        assert contradicted.store(name) == consistent.store(name)


def test_totals_are_those_of_created() -> None:
    task = driver()
    pipe(task, "created")
    pipe(task, "paid", **OTHER)
    pipe(task, "shipped", **OTHER)
    assert task.store("inventory") == {"lamp": ProductStock(97, 0, 3)}
    assert task.store("customers") == {"ann": Customer(1, Decimal("59.97"), ("o1",), (START,))}
