"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from session_analytics.model import UserClick
from tests.plain import build, plain
from tests.session_analytics.harness import driver

PAGE = Path(__file__).parents[2] / "docs" / "services" / "session-analytics.md"


def test_example() -> None:
    clicks, expected = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    task = driver()
    for click in clicks:
        outputs = task.pipe("ann", build(UserClick, click))
    assert [plain(output.value) for output in outputs] == expected
    assert [list(item) for item in expected] == [list(plain(output.value)) for output in outputs]
