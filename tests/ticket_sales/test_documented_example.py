"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from forebay.testing import TestDriver
from tests.plain import plain
from ticket_sales.model import MovieTicketSale

PAGE = Path(__file__).parents[2] / "docs" / "services" / "ticket-sales.md"


def test_example() -> None:
    sales, changes = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    driver = TestDriver("ticket-sales", tasks=2)
    for sale in sales:
        driver.pipe(sale["cinema"], MovieTicketSale(**sale))
    assert [plain(output.value) for output in driver.outputs] == changes
    assert {output.key for output in driver.outputs} == {"Aliens"}
