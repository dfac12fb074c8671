"""An order is created, paid, shipped and delivered, or cancelled before it is shipped. Other orders are invalid."""

import pytest

from order_stores.model import Order, Status
from tests.order_stores.harness import START, driver, lifecycle, pipe, refusal

ALLOWED = {
    ("created",),
    ("created", "paid"),
    ("created", "cancelled"),
    ("created", "paid", "shipped"),
    ("created", "paid", "cancelled"),
    ("created", "paid", "shipped", "delivered"),
}


@pytest.mark.parametrize("statuses", sorted(ALLOWED))
def test_allowed_status_sequence_is_applied(statuses: tuple[str, ...]) -> None:
    task = driver()
    results = lifecycle(task, *statuses)
    assert tuple(result.status for result in results) == statuses
    assert task.errors == []
    at = START + 1000 * (len(statuses) - 1)
    assert task.store("orders") == {"o1": Order("o1", statuses[-1], "lamp", 3, 19.99, "ann", at)}


@pytest.mark.parametrize("path", [(), *sorted(ALLOWED)])
@pytest.mark.parametrize("status", list(Status))
def test_every_other_status_is_refused_and_changes_no_store(path: tuple[str, ...], status: Status) -> None:
    if (*path, status.value) in ALLOWED:
        task = driver()
        assert lifecycle(task, *path, status.value)[-1].status == status
        return
    task = driver()
    lifecycle(task, *path)
    reason = refusal(task, status.value, 10_000, event_id="refused")
    assert f"order o1 is {path[-1] if path else 'unknown'}" in reason
    assert status in reason


def test_refusal_names_the_allowed_next_statuses() -> None:
    task = driver()
    assert "order o1 is unknown: it must be created before it is paid" in refusal(task, "paid")
    lifecycle(task, "created")
    assert "order o1 is created, which can't be followed by shipped: only by cancelled or paid" in refusal(
        task, "shipped"
    )
    lifecycle(task, "paid", "shipped", "delivered")
    assert "can't be followed by paid: nothing follows it" in refusal(task, "paid")


def test_refused_event_is_accepted_once_its_status_is_allowed() -> None:
    task = driver()
    pipe(task, "created")
    refusal(task, "shipped", event_id="e-3")
    pipe(task, "paid")
    assert pipe(task, "shipped", event_id="e-3").sold == 3
    assert task.duplicates == 0


def test_last_updated_never_goes_backwards() -> None:
    task = driver()
    pipe(task, "created", 1000)
    pipe(task, "paid", 400)
    assert task.store("orders")["o1"].last_updated == START + 1000
    pipe(task, "shipped", 2000)
    assert task.store("orders")["o1"].last_updated == START + 2000


def test_status_survives_a_restart() -> None:
    task = driver()
    pipe(task, "created")
    task.restart()
    assert pipe(task, "paid").customer_orders == 1
    task.restart()
    refusal(task, "paid")
