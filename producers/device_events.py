"""Events of devices in facilities, which report, overheat, fail, fall silent and resume (topic device_events)."""

from __future__ import annotations

import hashlib
from random import Random

from device_alerts.model import DeviceEvent
from forebay.producing.base import FIXED_START_MS, Event, Options, Source
from producers.draws import MASK, SIZE, weighted_table
from producers.fleet import Fleet

_TYPES = weighted_table(
    [
        ("sensor_reading", 70.0),
        ("heartbeat", 20.0),
        ("status_update", 5.0),
        ("error", 2.0),
        ("diagnostics", 2.0),
        ("firmware_check", 1.0),
    ]
)
_VALUES = {
    "heartbeat": ["ok"] * SIZE,
    "status_update": weighted_table(
        [("idle", 4.0), ("running", 5.0), ("standby", 2.0), ("maintenance", 1.0), ("degraded", 0.5)]
    ),
    "error": weighted_table([("E101", 4.0), ("E102", 3.0), ("E205", 2.0), ("E307", 1.0), ("E500", 0.5)]),
    "diagnostics": weighted_table([("passed", 9.0), ("failed", 1.0)]),
    "firmware_check": weighted_table([("up-to-date", 5.0), ("update-available", 1.0)]),
}


class DeviceEventsGenerator:
    """The devices report in turn, at regular intervals, except those that are silent.

    Readings swing around the device's usual temperature, below 70; a device that overheats climbs above 75, and
    cools down after some minutes. A few old devices send readings as text.
    """

    def __init__(self, options: Options) -> None:
        start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
        self._random = random = Random(f"device_events {options.seed}")
        self._fleet = Fleet(options.keys, start_ms, random)
        self._noise = [random.gauss(0, 0.8) for _ in range(SIZE)]
        self._run = hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]
        self._number = 0

    def next_event(self, timestamp: int) -> Event[DeviceEvent]:
        """Return the report of the next device."""
        device = self._fleet.next_device(timestamp)
        bits = self._random.getrandbits(24)
        event_type = _TYPES[bits & MASK]
        value: str | float
        if event_type == "sensor_reading":
            value = round(device.temperature(timestamp) + self._noise[bits >> 12], 1)
            if device.sends_text:
                value = str(value)
        else:
            value = _VALUES[event_type][bits >> 12]
        self._number = number = self._number + 1
        name = device.name
        report = DeviceEvent(
            event_id=f"{self._run}-{number:08x}",
            device_id=name,
            event_type=event_type,
            value=value,
            timestamp=timestamp,
            facility=device.facility,
            zone=device.zone,
        )
        return Event(name, report, timestamp)


SOURCE = Source("device_events", "device-alerts", "DeviceEvent", DeviceEvent, DeviceEventsGenerator, "event_type")
