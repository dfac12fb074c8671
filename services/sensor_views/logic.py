"""The check of readings, which views/ aggregates. Rules: docs/services/sensor-views.md."""

from __future__ import annotations

from forebay.processor import RejectedRecord
from sensor_views.model import Reading


def check_reading(reading: Reading) -> None:
    """Check a reading. Raises RejectedRecord with the mistake."""
    if not reading.sensor:
        raise RejectedRecord("sensor is empty: the producer must name the sensor")
    if not reading.area:
        raise RejectedRecord("area is empty: the producer must name the area the sensor is in")
