"""The service produces the results of the example on its page."""

import json
import re
from pathlib import Path

from device_alerts.model import DeviceEvent
from forebay.records import as_dict
from tests.device_alerts.harness import driver

PAGE = Path(__file__).parents[2] / "docs" / "services" / "device-alerts.md"


def test_example() -> None:
    events, expected = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    task = driver()
    for event in events:
        task.pipe(event["device_id"], DeviceEvent(**event))
    alerts = [as_dict(output.value) for output in task.outputs]
    assert [{name: value for name, value in alert.items() if value is not None} for alert in alerts] == expected
    assert [list(alert) for alert in expected] == [
        [name for name, value in alert.items() if value is not None] for alert in alerts
    ]
