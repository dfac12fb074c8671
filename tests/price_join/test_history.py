"""Prices are stored for the history retention. Older records go to .late."""

from price_join.settings import Unpriced
from tests.price_join.harness import START, Kitchen

HISTORY = 1000


def kitchen(join: Unpriced = Unpriced.INNER) -> Kitchen:
    """Return a kitchen whose history begins at 4000."""
    opened = Kitchen(history_retention_ms=HISTORY, join=join)
    opened.price(0, 7)
    opened.price(3500, 8)
    opened.price(5000, 9)
    return opened


def late(of: Kitchen) -> list[tuple[str | None, str]]:
    return [
        (None if failure.key is None else failure.key.decode(), failure.headers["late.by_ms"])
        for failure in of.driver.late
    ]


def test_history_includes_its_lower_bound() -> None:
    opened = kitchen()
    assert opened.order(4000, "Anna") == [("Anna", 8)]
    assert opened.price(4000, 8.5) == []
    assert opened.order(4000, "Bob") == [("Bob", 8.5)]
    assert late(opened) == []


def test_an_order_from_before_the_history_finds_no_former_price_and_is_late() -> None:
    opened = kitchen()
    assert opened.order(3999, "Anna") == []
    assert late(opened) == [("curry", "1")]
    assert opened.driver.late[0].headers["late.stream_time"] == str(START + 5000)


def test_order_from_before_the_history_is_late_and_unpriced_in_a_left_join() -> None:
    opened = kitchen(join=Unpriced.LEFT)
    assert opened.order(3900, "Anna") == [("Anna", None)]
    assert late(opened) == [("curry", "100")]


def test_a_price_from_before_the_history_is_late_and_changes_nothing() -> None:
    opened = kitchen()
    before = opened.history("curry")
    assert opened.price(3999, 100) == []
    assert late(opened) == [("curry", "1")]
    assert opened.history("curry") == before


def test_latest_price_applies_to_orders_older_than_the_history() -> None:
    opened = kitchen()
    opened.price(4500, 3, "soup")
    opened.price(20_000, 9)
    assert opened.order(4500, "Anna", item="soup") == [("Anna", 3)]
    assert late(opened) == []


def test_an_order_without_any_price_is_not_late() -> None:
    opened = kitchen()
    assert opened.order(4000, "Anna", item="soup") == []
    assert late(opened) == []


def test_without_history_only_current_prices_are_known() -> None:
    opened = Kitchen(history_retention_ms=0)
    opened.price(0, 8)
    opened.price(4, 10)
    assert opened.order(4, "Bob") == [("Bob", 10)]
    assert opened.order(3, "Candace") == []
    assert late(opened) == [("curry", "1")]


def test_only_prices_move_the_history() -> None:
    opened = kitchen()
    opened.order(60_000, "Anna")
    assert opened.price(4000, 8.5) == []
    assert opened.order(4000, "Bob") == [("Bob", 8.5)]
