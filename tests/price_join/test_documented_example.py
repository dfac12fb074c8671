"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from forebay.testing import TestDriver
from price_join.model import FoodOrder, MenuPrice
from tests.plain import plain

PAGE = Path(__file__).parents[2] / "docs" / "services" / "price-join.md"
TYPES = {"menu_prices": MenuPrice, "food_orders": FoodOrder}


def test_example() -> None:
    events, bills = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    driver = TestDriver("price-join")
    for event in events:
        ((topic, fields),) = event.items()
        driver.pipe(fields["item"], TYPES[topic](**fields), topic)
    assert [plain(output.value) for output in driver.outputs] == bills
    assert [bill["total"] for bill in bills] == [16, 10, 24]
    assert {output.key for output in driver.outputs} == {"curry"}
