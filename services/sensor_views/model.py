"""The record that comes in: contract in avro/sensor-views, field for field. The others are made from the views."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.fastinit import fast_init


@fast_init
@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor measured in an area (topic readings, keyed by sensor). Time in ms."""

    event_id: str | None
    sensor: str
    area: str
    reading: float
    timestamp: int
