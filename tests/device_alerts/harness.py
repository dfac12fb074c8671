"""A test driver for the service, and events for it."""

from __future__ import annotations

from typing import Any

from device_alerts.model import Device, DeviceAlert, DeviceEvent
from device_alerts.settings import DeviceAlertsSettings
from forebay.processor.timers import PREFIX
from forebay.stores.table import prefix_end
from forebay.testing import Forwarded, TestDriver

START = 1_735_689_600_000
MINUTE = 60_000
OFFLINE_AFTER = 5 * MINUTE


def driver(settings: DeviceAlertsSettings | None = None, **engine: Any) -> TestDriver:
    return TestDriver("device-alerts", settings=settings, **engine)


def event(at: int, event_type: str = "heartbeat", value: str | float = "ok", **fields: Any) -> DeviceEvent:
    """Return an event whose time is `at` ms after START."""
    values: dict[str, Any] = {
        "event_id": None,
        "device_id": "d1",
        "event_type": event_type,
        "value": value,
        "timestamp": START + at,
        "facility": "plant",
        "zone": "hall",
    }
    return DeviceEvent(**values | fields)


def pipe(
    to: TestDriver, at: int, event_type: str = "heartbeat", value: str | float = "ok", key: str = "d1", **fields: Any
) -> list[DeviceAlert]:
    """Process one event of `key`, and return its alerts. All alerts must have the key and time of the event."""
    alerts = to.pipe(key, event(at, event_type, value, **fields))
    assert all((alert.key, alert.timestamp) == (key, START + at) for alert in alerts)
    return values(alerts)


def values(outputs: list[Forwarded[DeviceAlert]]) -> list[DeviceAlert]:
    """Return the alerts in outputs. Each must have its device as key, and its own time."""
    assert all((output.key, output.timestamp) == (output.value.device_id, output.value.timestamp) for output in outputs)
    return [output.value for output in outputs]


def types(alerts: list[DeviceAlert]) -> list[str]:
    return [alert.alert_type for alert in alerts]


def device(of: TestDriver, key: str = "d1") -> Device:
    """Return the state of `key`."""
    result = of.store("devices")[key]
    assert isinstance(result, Device)
    return result


def timer_rows(of: TestDriver) -> list[tuple[bytes, bytes]]:
    """Return the rows of timers in the task's table."""
    return list(of.sub_topologies[0].tables[0].scan(PREFIX, prefix_end(PREFIX)))


def started_again(task: TestDriver, settings: DeviceAlertsSettings) -> TestDriver:
    """Restart the job on the same state with other settings."""
    fresh = driver(settings)
    (old,) = task.sub_topologies[0].state_tasks
    fresh.restore({old.place: (old.table.scan(b""), old.position)})
    return fresh
