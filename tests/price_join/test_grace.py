"""With a grace, an order waits for late prices until the time of orders has reached its own time plus the grace."""

import pytest

from price_join.settings import PriceJoinSettings
from tests.price_join.harness import Kitchen

GRACE = 100


@pytest.fixture
def kitchen() -> Kitchen:
    opened = Kitchen(grace_ms=GRACE)
    opened.price(0, 8)
    return opened


def test_order_is_not_billed_a_millisecond_early(kitchen: Kitchen) -> None:
    assert kitchen.order(10, "Anna") == []
    assert kitchen.order(10 + GRACE - 1, "Bob", item="soup") == []
    assert kitchen.order(10 + GRACE, "Cas", item="soup") == [("Anna", 8)]


def test_prices_do_not_advance_the_time_of_orders(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    for at in range(20, 20 * GRACE, 30):
        assert kitchen.price(at, 9, "soup") == []
    kitchen.price(10, 7)
    assert kitchen.order(10 + GRACE, "Bob") == [("Anna", 7)]


def test_idle_time_starts_at_the_last_order(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    kitchen.price(10 + 5 * GRACE, 9, "soup")
    assert kitchen.pause(GRACE - 1) == []
    assert kitchen.pause(1) == [("Anna", 8)]


def test_a_price_that_comes_late_counts(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    kitchen.price(5, 9)
    assert kitchen.order(10 + GRACE, "Bob") == [("Anna", 9)]


def test_a_price_that_comes_after_the_grace_does_not(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    assert kitchen.order(10 + GRACE, "Bob") == [("Anna", 8)]
    kitchen.price(5, 9)
    assert kitchen.pause(GRACE) == [("Bob", 9)]


def test_an_order_whose_grace_was_over_before_it_came_is_billed_at_once(kitchen: Kitchen) -> None:
    kitchen.order(10 + GRACE, "Zoe")
    assert kitchen.order(9, "Anna") == [("Anna", 8)]
    assert kitchen.order(11, "Bob") == []


def test_waiting_orders_are_billed_by_time_then_item_then_arrival(kitchen: Kitchen) -> None:
    kitchen.price(0, 3, "bread")
    for at, customer, item in [(20, "d", "curry"), (10, "b", "curry"), (10, "a", "bread"), (10, "c", "curry")]:
        kitchen.order(at, customer, item=item)
    released = kitchen.order(1000, "z")
    assert [customer for customer, _ in released] == ["a", "b", "c", "d"]
    assert [output.key for output in kitchen.driver.outputs] == ["bread", "curry", "curry", "curry"]


def test_an_idle_topic_bills_when_the_grace_has_passed(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    kitchen.order(30, "Bob")
    assert kitchen.pause(GRACE - 21) == []
    assert kitchen.pause(1) == [("Anna", 8)]
    assert kitchen.pause(20) == [("Bob", 8)]
    assert kitchen.pause(10 * GRACE) == []


def test_windows_closed_on_an_idle_topic_stay_closed(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    assert kitchen.pause(GRACE) == [("Anna", 8)]
    assert kitchen.order(9, "Bob") == [("Bob", 8)]


def test_no_order_is_lost_when_time_jumps(kitchen: Kitchen) -> None:
    for at in range(20):
        kitchen.order(at, f"c{at}")
    kitchen.price(50, 9)
    assert len(kitchen.order(10_000_000, "z", item="soup")) == 20
    assert {output.value.total for output in kitchen.driver.outputs} == {8}


def test_waiting_orders_survive_a_restart(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna")
    kitchen.driver.restart()
    assert kitchen.pause(GRACE) == [("Anna", 8)]


def test_duplicate_order_waits_once(kitchen: Kitchen) -> None:
    kitchen.order(10, "Anna", order_id="o-1")
    kitchen.order(10, "Anna", order_id="o-1")
    assert kitchen.pause(GRACE) == [("Anna", 8)]


@pytest.mark.parametrize("grace_ms", [0, 40, 250])
def test_waiting_orders_are_billed_at_the_longer_of_the_old_and_new_grace(grace_ms: int) -> None:
    before, after = Kitchen(grace_ms=GRACE), Kitchen(grace_ms=grace_ms)
    before.price(0, 8)
    before.order(10, "Anna")
    move(before, after)
    due = max(GRACE, grace_ms)
    assert after.pause(due - 1) == []
    assert after.pause(1) == [("Anna", 8)]


def move(old: Kitchen, new: Kitchen) -> None:
    """Restart the job on the same state with other settings."""
    (task,) = old.driver.sub_topologies[0].state_tasks
    new.driver.restore({task.place: (task.table.scan(b""), task.position)})


def test_a_grace_beyond_the_history_is_refused() -> None:
    with pytest.raises(ValueError, match=r"grace_ms is 11, longer than prices are known: use at most .*, 10"):
        PriceJoinSettings(history_retention_ms=10, grace_ms=11)
    assert PriceJoinSettings(history_retention_ms=10, grace_ms=10).grace_ms == 10
