"""Invalid events go to .errors with the reason and change nothing."""

from decimal import Decimal
from typing import Any

import pytest

from tests.order_stores.harness import START, driver, pipe, refusal, step, stores


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"order_id": ""}, "order_id is empty: the producer must name the order"),
        ({"product_id": ""}, "product_id is empty: the producer must name the product"),
        ({"order_id": "o" * 1001}, "order_id has 1001 characters: use at most 1000"),
        ({"product_id": "p" * 1001}, "product_id has 1001 characters"),
        ({"customer_id": "c" * 1001}, "customer_id has 1001 characters"),
        ({"status": "returned"}, "status is 'returned': the producer must send one of created, paid, shipped"),
        ({"status": "CREATED"}, "status is 'CREATED'"),
        ({"quantity": 0}, "quantity is 0: the producer must send 1 to 1000000000"),
        ({"quantity": -3}, "quantity is -3"),
        ({"quantity": 1_000_000_001}, "quantity is 1000000001"),
        ({"price": -0.01}, "price is -0.01: the producer must send 0 to 1000000000"),
        ({"price": Decimal("-0.01")}, "price is -0.01"),
        ({"price": float("nan")}, "price is nan"),
        ({"price": float("inf")}, "price is inf"),
        ({"price": 1e10}, "price is 10000000000.0"),
    ],
)
@pytest.mark.parametrize("known", ["unknown", "created"])
def test_refused_with_the_reason_and_without_effect(fields: dict[str, Any], reason: str, known: str) -> None:
    task = driver()
    if known == "created" and "order_id" not in fields:
        pipe(task, "created")
    status = fields.get("status", "paid" if task.store("orders") else "created")
    assert reason in refusal(task, **{"status": status} | fields)


def test_the_key_must_be_the_order() -> None:
    task = driver()
    assert task.pipe("lamp", step("created")) == []
    assert "order_id is 'o1' but the record's key is 'lamp'" in task.errors[0].headers["error.message"]
    assert stores(task) == {"orders": {}, "inventory": {}, "customers": {}}


def test_free_goods_are_fine() -> None:
    assert pipe(driver(), "created", price=0.0).customer_orders == 1


def test_longest_ids_and_largest_numbers_pass_all_sub_topologies() -> None:
    task = driver(history_limit=1000)
    ids: dict[str, Any] = {"order_id": "ä" * 1000, "product_id": "ß" * 1000, "customer_id": "ç" * 1000}
    most: dict[str, Any] = {"quantity": 1_000_000_000, "price": 1e9}
    pipe(task, "created", **ids, **most)
    assert pipe(task, "paid", **ids, **most).customer_total_spent == 10**18
    assert task.errors == []


def test_a_repeated_event_id_changes_nothing() -> None:
    task = driver()
    pipe(task, "created", event_id="e1")
    before = stores(task)
    assert task.pipe("o1", step("created", event_id="e1")) == []
    assert task.duplicates == 1
    assert task.errors == []
    assert stores(task) == before


def test_undecodable_bytes_change_nothing() -> None:
    task = driver()
    pipe(task, "created")
    before = stores(task)
    for data in (b"\x02", b"", b"\x00\x00\x00\x00\x63abc", None):
        assert task.pipe_bytes(b"o1", data, START) == []
    assert task.pipe_bytes(None, b"\x02", START) == []
    assert [error.headers["error.stage"] for error in task.errors] == ["decode"] * 5
    assert stores(task) == before
