"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from tests.plain import build, plain
from tests.user_sessions.harness import driver
from user_sessions.model import UserActivity

PAGE = Path(__file__).parents[2] / "docs" / "services" / "user-sessions.md"


def test_example() -> None:
    events, expected = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    task = driver()
    for event in events:
        outputs = task.pipe("ann", build(UserActivity, event))
    assert [plain(output.value) for output in outputs] == [expected]
    assert list(expected) == list(plain(outputs[0].value))
