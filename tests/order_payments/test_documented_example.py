"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from forebay.testing import TestDriver
from order_payments.model import Payment, PlacedOrder
from tests.plain import plain

PAGE = Path(__file__).parents[2] / "docs" / "services" / "order-payments.md"
TYPES = {"placed_orders": PlacedOrder, "payments": Payment}


def test_example() -> None:
    events, outcomes = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    driver = TestDriver("order-payments")
    for event in events:
        ((topic, fields),) = event.items()
        driver.pipe(fields["order_id"], TYPES[topic](**fields), topic)
    assert [plain(output.value) for output in driver.outputs] == outcomes
    assert [output.key for output in driver.outputs] == [outcome["order_id"] for outcome in outcomes]
