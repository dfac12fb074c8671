"""The input record, which matches its contract in avro/sensor-views. All others are generated from the views."""

from __future__ import annotations

from forebay.records import Record


class Reading(Record):
    """A reading of a sensor in an area (topic readings, keyed by sensor). Time in ms."""

    event_id: str | None
    sensor: str
    area: str
    reading: float
    timestamp: int
