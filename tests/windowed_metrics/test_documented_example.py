"""The service has the defaults on its page, and produces the results of the example there."""

import json
import re
from dataclasses import asdict, fields
from enum import Enum
from pathlib import Path

from tests.plain import build, plain
from tests.windowed_metrics.harness import driver
from windowed_metrics.model import ServerMetric
from windowed_metrics.settings import WindowedMetricsSettings

PAGE = (Path(__file__).parents[2] / "docs" / "services" / "windowed-metrics.md").read_text()


def test_example() -> None:
    events, expected = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    task = driver()
    for event in events:
        outputs = task.pipe("web-1", build(ServerMetric, event))
    assert [plain(output.value) for output in outputs] == [expected]
    assert list(expected) == list(plain(outputs[0].value))


def test_settings_and_their_defaults() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `?(\w+)", PAGE, re.MULTILINE))
    defaults = asdict(WindowedMetricsSettings())
    assert list(rows) == [field.name for field in fields(WindowedMetricsSettings)]
    assert rows == {name: str(value.value if isinstance(value, Enum) else value) for name, value in defaults.items()}
