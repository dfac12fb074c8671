"""In a left join, an order without a price results in a bill without a total."""

from price_join.settings import Unpriced
from tests.price_join.harness import START, Kitchen


def test_a_bill_without_a_price() -> None:
    kitchen = Kitchen(join=Unpriced.LEFT)
    kitchen.price(10, 8)
    assert kitchen.order(9, "Anna", 2, order_id="o-1") == [("Anna", None)]
    bill = {"order_id": "o-1", "customer": "Anna", "item": "curry", "quantity": 2}
    assert kitchen.results() == [
        ("curry", bill | {"unit_price": None, "total": None, "price_valid_from": None}, START + 9)
    ]


def test_a_bill_with_a_price_is_that_of_the_inner_join() -> None:
    kitchen = Kitchen(join=Unpriced.LEFT)
    kitchen.price(10, 8)
    assert kitchen.order(10, "Anna", 2) == [("Anna", 16)]


def test_bill_without_a_price_is_sent_after_the_grace() -> None:
    kitchen = Kitchen(join=Unpriced.LEFT, grace_ms=5)
    assert kitchen.order(0, "Anna") == []
    kitchen.price(5, 8)
    assert kitchen.order(5, "Bob", item="soup") == [("Anna", None)]
