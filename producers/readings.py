"""Temperatures of sensors on the parts of a machine (topic readings)."""

from __future__ import annotations

import math
from random import Random

from forebay.producing.base import Event, Options, Source
from producers.draws import SIZE, weighted_table
from producers.restaurant import Turns, run_id
from sensor_views.model import Reading

_PARTS = (
    ("motor", 92.0, 6.0),
    ("wheel", 34.0, 5.0),
    ("muffler", 180.0, 4.0),
    ("brake", 120.0, 4.0),
    ("gearbox", 78.0, 3.0),
    ("battery", 28.0, 3.0),
    ("cabin", 21.0, 2.0),
    ("radiator", 85.0, 1.0),
)
"""Name, usual temperature in degrees Celsius, and share of the sensors."""
_PLACES = weighted_table([((name, usual), share) for name, usual, share in _PARTS])
_PERIOD_MS = 20 * 60_000


class ReadingsGenerator:
    """Readings of `options.keys` sensors, each of which is always in one area. Some report more often than others.

    A sensor reads its area's usual temperature, a few degrees off, with a swing of 20 minutes and some noise.
    """

    def __init__(self, options: Options) -> None:
        self._random = random = Random(f"readings {options.seed}")
        self._sensors = [
            (f"sensor-{number:04d}", *_PLACES[random.getrandbits(12)], random.gauss(0, 1.5), random.random())
            for number in range(1, options.keys + 1)
        ]
        self._noise = [random.gauss(0, 0.7) for _ in range(SIZE)]
        self._turns = Turns(options.keys, random)
        self._run = run_id(options)
        self._number = 0

    def next_event(self, timestamp: int) -> Event[Reading]:
        """Return the reading of the next sensor."""
        self._number = number = self._number + 1
        sensor, area, usual, off, phase = self._sensors[self._turns.next()]
        swing = 0.05 * usual * math.sin(2 * math.pi * (timestamp % _PERIOD_MS / _PERIOD_MS + phase))
        value = round(usual + off + swing + self._noise[self._random.getrandbits(12)], 2)
        return Event(
            sensor,
            Reading(event_id=f"{self._run}-{number:08x}", sensor=sensor, area=area, reading=value, timestamp=timestamp),
            timestamp,
        )


SOURCE = Source("readings", "sensor-views", "Reading", Reading, ReadingsGenerator, "reading")
