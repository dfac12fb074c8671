"""The record that comes in: contract in avro/sensor-views, field for field. The others are made from the views."""

from __future__ import annotations

from forebay.records import Record


class Reading(Record):
    """What a sensor measured in an area (topic readings, keyed by sensor). Time in ms."""

    event_id: str | None
    sensor: str
    area: str
    reading: float
    timestamp: int
