"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from forebay.testing import TestDriver
from menu_votes.model import CustomerRegion, CustomerVote
from tests.plain import plain

PAGE = Path(__file__).parents[2] / "docs" / "services" / "menu-votes.md"
TYPES: dict[str, type[CustomerVote] | type[CustomerRegion]] = {
    "customer_votes": CustomerVote,
    "customer_regions": CustomerRegion,
}


def test_example() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    events, by_dish, by_region = (json.loads(block) for block in blocks)
    driver = TestDriver("menu-votes", tasks=2)
    for event in events:
        ((topic, fields),) = event.items()
        driver.pipe(fields["customer"], TYPES[topic](**fields), topic)
    for topic, expected in (("vote_counts", by_dish), ("votes_by_region", by_region)):
        assert [plain(output.value) for output in driver.outputs if output.topic == topic] == expected
