"""Which readings count. What is made of them is in views/. Rules: docs/services/sensor-views.md."""

from __future__ import annotations

from forebay.processor import RejectedRecord
from sensor_views.model import Reading


def check_reading(reading: Reading) -> None:
    """Let a reading pass. Raises RejectedRecord, naming what is wrong with it."""
    if not reading.sensor:
        raise RejectedRecord("sensor is empty: the producer must name the sensor")
    if not reading.area:
        raise RejectedRecord("area is empty: the producer must name the area the sensor is in")
