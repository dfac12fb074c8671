"""The service produces the results of the example on its page."""

import json
import re
from decimal import Decimal
from pathlib import Path

from order_stores.model import OrderEvent
from tests.order_stores.harness import driver, stores
from tests.plain import plain

PAGE = Path(__file__).parents[2] / "docs" / "services" / "order-stores.md"


def test_example() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    events, results, held = (json.loads(block, parse_float=Decimal) for block in blocks)
    task = driver()
    for event in events:
        task.pipe(event["order_id"], OrderEvent(**event))
    assert [plain(output.value) for output in task.outputs] == results
    assert [output.key for output in task.outputs] == [event["order_id"] for event in events]
    assert list(results[0]) == list(plain(task.outputs[0].value))
    assert stores(task) == held
