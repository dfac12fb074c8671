"""The report in an event about its device: a status, a temperature, an error."""

from __future__ import annotations

import math
import re

from device_alerts.model import DeviceEvent, EventType, Status
from forebay.processor import RejectedRecord

READING = EventType.SENSOR_READING.value
STATUS_UPDATE = EventType.STATUS_UPDATE.value
ERROR = EventType.ERROR.value
HEARTBEAT = EventType.HEARTBEAT.value

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE_BELOW = 1e15

Report = tuple[str | None, float | None, str | None]
"""Status, temperature and error code; None if the event does not report it."""


def report_of(event: DeviceEvent) -> Report:
    """Return the report of an event. Raises RejectedRecord if its value or type is invalid."""
    kind = event.event_type
    if kind == READING:
        return Status.ACTIVE, _temperature(event.value), None
    if kind == HEARTBEAT:
        return Status.ONLINE, None, None
    if kind == STATUS_UPDATE:
        return _text(event), None, None
    if kind == ERROR:
        return Status.ERROR, None, _text(event)
    if not kind:
        raise RejectedRecord("event_type is empty: the producer must say what the event is")
    return None, None, None


def _temperature(value: str | float) -> float:
    """Return the temperature of a number, or of a text in plain decimal notation."""
    temperature = value
    if isinstance(temperature, str):
        temperature = float(temperature) if _NUMBER.fullmatch(temperature) else math.nan
    if not -math.inf < temperature < math.inf:
        raise RejectedRecord(f"the reading {value!r:.100} is not a finite number: the device must send its temperature")
    return temperature


def _text(event: DeviceEvent) -> str:
    """Return a status or an error code. A number is converted to its shortest text (503.0: "503")."""
    value = event.value
    if isinstance(value, str):
        if not value:
            raise RejectedRecord(f"the value of the {event.event_type} is empty: the device must say which")
        return value
    if not math.isfinite(value):
        raise RejectedRecord(f"the value of the {event.event_type} is {value}: the device must say which")
    return str(int(value)) if value.is_integer() and abs(value) < _WHOLE_BELOW else repr(value)
