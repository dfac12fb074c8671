"""The service under test, as a kitchen that sets prices and receives orders."""

from __future__ import annotations

import itertools
from typing import Any

from forebay.processor.bound_stores import declared_stores
from forebay.stores.versioned import Order
from forebay.testing import Forwarded, TestDriver
from price_join.model import FoodBill, FoodOrder, MenuPrice
from price_join.settings import PriceJoinSettings
from tests.plain import plain
from tests.price_join.replay import History, Output

START = 1_735_689_600_000
MINUTE = 60_000


class Kitchen:
    """A test driver for the service. Times are ms after START, and bills are (customer, total)."""

    def __init__(self, dedupe_retention_ms: int = 600_000, **settings: Any) -> None:
        self.driver = TestDriver(
            "price-join", settings=PriceJoinSettings(**settings), dedupe_retention_ms=dedupe_retention_ms
        )
        self._numbers = itertools.count()

    def price(self, at: int, price: float, item: str = "curry") -> list[tuple[str, float | None]]:
        """Set an item's price, and return the resulting bills."""
        return bills(self.driver.pipe(item, MenuPrice(item, price, START + at), "menu_prices"))

    def take_off(self, at: int, item: str = "curry") -> list[tuple[str, float | None]]:
        """Delete an item's price, and return the resulting bills."""
        return bills(self.driver.pipe_bytes(item.encode(), None, START + at, "menu_prices"))

    def order(
        self, at: int, customer: str, quantity: int = 1, item: str = "curry", order_id: str = ""
    ) -> list[tuple[str, float | None]]:
        """Order an item, and return the resulting bills."""
        order = FoodOrder(order_id or f"o-{next(self._numbers)}", customer, item, quantity, START + at)
        return bills(self.driver.pipe(item, order, "food_orders"))

    def pause(self, ms: int) -> list[tuple[str, float | None]]:
        """Advance time without a record, and return the resulting bills."""
        return bills(self.driver.advance_wall_time(ms))

    def results(self) -> list[Output]:
        """Return all bills so far in the replay's form."""
        return [(output.key, plain(output.value), output.timestamp) for output in self.driver.outputs]

    def history(self, *items: str) -> dict[str, History]:
        """Return the known prices of items in the replay's form."""
        stores: dict[str, Any] = {
            store.name: store for _, store in declared_stores(self.driver.sub_topologies[0].processors[0])
        }
        prices = stores["menu-prices"]
        begin = prices.stream_time - prices.history_retention_ms
        return {
            item: [
                (version.timestamp, version.value.price, version.valid_to)
                for version in prices.get_range(item, begin, None, Order.OLDEST_FIRST)
            ]
            for item in sorted(items)
        }


def bills(outputs: list[Forwarded[FoodBill]]) -> list[tuple[str, float | None]]:
    """Return customer and total of each bill."""
    return [(output.value.customer, output.value.total) for output in outputs]
