"""The numbers in the documentation's restaurant example are correct, including those of an unversioned table."""

from pathlib import Path

from forebay.operators import Join, LatestByOffset, StreamTableJoin
from forebay.serde import local_codec
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.testing.bench import Backend, open_bench
from price_join.logic import bill
from price_join.model import FoodOrder, MenuPrice
from tests.price_join.harness import Kitchen


def test_everyone_pays_the_price_of_the_moment_they_ordered() -> None:
    kitchen = Kitchen()
    assert kitchen.price(0, 8) == []
    assert kitchen.order(1, "Anna", 2) == [("Anna", 16)]
    assert kitchen.price(4, 10) == []
    assert kitchen.order(5, "Bob", 1) == [("Bob", 10)]
    assert kitchen.order(3, "Candace", 3) == [("Candace", 24)]


def test_an_unversioned_table_charges_candace_the_new_price(tmp_path: Path) -> None:
    with open_bench(Backend.IN_MEMORY, tmp_path) as bench:
        store = bench.open(TimestampedKeyValueStore("menu-prices", MenuPrice), local_codec("price-join", MenuPrice))
        table = LatestByOffset(store)
        join = StreamTableJoin(table, Join.INNER, bill)
        table.update("curry", MenuPrice("curry", 8, 0), 0)
        table.update("curry", MenuPrice("curry", 10, 4), 4)
        (candace,) = join.process("curry", FoodOrder("o-3", "Candace", "curry", 3, 3), 3)
    assert candace.value is not None
    assert candace.value.total == 30
