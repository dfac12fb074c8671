"""The devices of a synthetic fleet: their places and temperatures, and when they overheat or are silent."""

from __future__ import annotations

import heapq
import math
from random import Random

_FACILITIES = ("plant-amsterdam", "plant-berlin", "plant-chicago", "warehouse-lyon", "warehouse-madrid")
_ZONES = ("assembly", "cold-storage", "loading-dock", "machine-room", "packaging")
_MINUTE_MS = 60_000
_SWING_MS = 20 * _MINUTE_MS
_SENDS_TEXT = 0.02

_HOT_SHARE = 0.02
_HOT_MS = _MINUTE_MS
_LONGEST_HOT_PAUSE_MS = _MINUTE_MS
_MOST_HOT = 0.05
_HOTTEST = 118.0
_CLIMB_MS = 30_000

_SILENT_SHARE = 0.04
_SILENT_MS = 8 * _MINUTE_MS
_LONGEST_SILENCE_PAUSE_MS = _MINUTE_MS
_FEWEST_REPORTING = 0.8


class Device:
    """A device of the fleet."""

    __slots__ = (
        "facility",
        "hot_from",
        "hot_until",
        "name",
        "peak",
        "phase",
        "sends_text",
        "silent_until",
        "usual",
        "zone",
    )

    def __init__(self, number: int, random: Random) -> None:
        place = random.randrange(len(_FACILITIES) * len(_ZONES))
        self.name = f"device_{number:06d}"
        self.facility = _FACILITIES[place % len(_FACILITIES)]
        self.zone = _ZONES[place // len(_FACILITIES)]
        self.sends_text = random.random() < _SENDS_TEXT
        self.usual = 6.0 if self.zone == "cold-storage" else random.uniform(35, 58)
        self.phase = random.random() * math.tau
        self.hot_from = self.hot_until = self.silent_until = -1
        self.peak = 0.0

    def temperature(self, ts: int) -> float:
        """Return the temperature at `ts` (ms), without the sensor's noise."""
        usual = self.usual + 4 * math.sin(ts * math.tau / _SWING_MS + self.phase)
        if self.hot_from <= ts < self.hot_until:
            return usual + (self.peak - usual) * min(1.0, (ts - self.hot_from) / _CLIMB_MS)
        return usual


class Fleet:
    """A number of devices that report in turn, of which a few are hot and a few are silent at any time.

    If there are fewer than five devices, none is ever silent, because one must report.
    """

    def __init__(self, size: int, start_ms: int, random: Random) -> None:
        self._random = random
        self._devices = [Device(number, random) for number in range(size)]
        self._order = random.sample(self._devices, size)
        self._turn = -1
        self._hot: list[int] = []
        self._most_hot = math.ceil(size * _MOST_HOT)
        self._silent: list[int] = []
        self._most_silent = size - math.ceil(size * _FEWEST_REPORTING)
        self._hot_pause_ms = min(_HOT_MS / (_HOT_SHARE * size), _LONGEST_HOT_PAUSE_MS)
        self._silence_pause_ms = min(_SILENT_MS / (_SILENT_SHARE * size), _LONGEST_SILENCE_PAUSE_MS)
        self._next_hot = start_ms
        self._next_silence = start_ms + self._pause(self._silence_pause_ms)

    def next_device(self, ts: int) -> Device:
        """Return the next device at `ts` (ms, ascending)."""
        if ts >= self._next_hot:
            self._overheat(ts)
        if ts >= self._next_silence:
            self._fall_silent(ts)
        order = self._order
        while True:
            self._turn += 1
            if self._turn == len(order):
                self._turn = 0
            device = order[self._turn]
            if device.silent_until <= ts:
                return device

    def _overheat(self, ts: int) -> None:
        random = self._random
        self._next_hot = ts + self._pause(self._hot_pause_ms)
        device = random.choice(self._devices)
        if device.hot_until <= ts and _has_room(self._hot, self._most_hot, ts):
            device.hot_from = ts
            device.hot_until = ts + _CLIMB_MS + self._pause(_HOT_MS)
            device.peak = random.uniform(78, _HOTTEST)
            heapq.heappush(self._hot, device.hot_until)

    def _fall_silent(self, ts: int) -> None:
        self._next_silence = ts + self._pause(self._silence_pause_ms)
        device = self._random.choice(self._devices)
        if device.silent_until <= ts and _has_room(self._silent, self._most_silent, ts):
            device.silent_until = ts + _MINUTE_MS + self._pause(_SILENT_MS)
            heapq.heappush(self._silent, device.silent_until)

    def _pause(self, mean_ms: float) -> int:
        """Return a random time in ms. Half of them are below two thirds of the mean."""
        return 1 + int(self._random.expovariate(1 / mean_ms))


def _has_room(ends: list[int], most: int, ts: int) -> bool:
    """Remove the ends before `ts`. Return whether fewer than `most` are left."""
    while ends and ends[0] <= ts:
        heapq.heappop(ends)
    return len(ends) < most
