"""Records of the service, which match the contracts in avro/price-join field by field."""

from __future__ import annotations

from forebay.records import Record


class MenuPrice(Record):
    """The price of an item from `timestamp` (ms) on (topic menu_prices, store menu-prices)."""

    item: str
    price: float
    timestamp: int


class FoodOrder(Record):
    """An order of one item (topic food_orders, store waiting-orders). Time in ms."""

    order_id: str
    customer: str
    item: str
    quantity: int
    timestamp: int


class FoodBill(Record):
    """An order with the price at its time (topic food_bills). Without a price, the last three fields are None.

    `price_valid_from` in ms.
    """

    order_id: str
    customer: str
    item: str
    quantity: int
    unit_price: float | None
    total: float | None
    price_valid_from: int | None
