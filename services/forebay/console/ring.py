"""A job's statistics of the last hour, which the console keeps in memory for reloaded pages."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any

SERIES = ("in", "out", "lag", "p50", "p99", "errors", "late")
"""Records per second in and out, pending records, latencies in ms, failed and late records per second."""

STEP_S = 5
SLOTS = 3600 // STEP_S
_NONE = math.nan


class Ring:
    """A ring buffer of one hour in steps of five seconds, with 40 KB per job. A step without values is a gap."""

    def __init__(self) -> None:
        self._values = {name: array("d", [_NONE]) * SLOTS for name in SERIES}
        self._steps = array("q", [-1]) * SLOTS

    def put(self, at_s: float, values: Mapping[str, float | None]) -> None:
        """Store the values of a time (seconds since the epoch). The last values of a step are kept."""
        step = int(at_s) // STEP_S
        slot = step % SLOTS
        self._steps[slot] = step
        for name, slots in self._values.items():
            value = values.get(name)
            slots[slot] = _NONE if value is None else value

    def show(self, now_s: float, since_s: float = 0.0) -> dict[str, Any]:
        """Return the values of the last hour after the step of `since_s`, oldest first; None: a gap.

        The current step is left out, because its values may still change.
        """
        last = int(now_s) // STEP_S - 1
        first = max(last - SLOTS + 2, int(since_s) // STEP_S + 1)
        steps = range(first, last + 1)
        return {
            "step_s": STEP_S,
            "first_s": first * STEP_S,
            "series": {name: [self._at(values, step) for step in steps] for name, values in self._values.items()},
        }

    def lately(self, name: str, now_s: float, points: int) -> list[float | None]:
        """Return the last `points` values of a series, for a small plot."""
        last = int(now_s) // STEP_S - 1
        return [self._at(self._values[name], step) for step in range(last - points + 1, last + 1)]

    def _at(self, kept: array[float], step: int) -> float | None:
        slot = step % SLOTS
        # A slot may still contain the value of an hour ago.
        if self._steps[slot] != step or math.isnan(kept[slot]):
            return None
        return round(kept[slot], 2)
