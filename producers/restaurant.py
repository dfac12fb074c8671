"""A synthetic restaurant: its dishes and its guests, the same for every topic about them."""

from __future__ import annotations

import hashlib
from random import Random

from forebay.producing.base import FIXED_START_MS, Options

_NAMES = (
    "curry",
    "berry sandwich",
    "ice cream noodles",
    "pad thai",
    "margherita",
    "falafel",
    "ramen",
    "tacos",
    "moussaka",
    "goulash",
    "bibimbap",
    "ratatouille",
    "pierogi",
    "paella",
    "fish and chips",
    "caesar salad",
    "lasagne",
    "pho",
    "shakshuka",
    "dumplings",
)


def dishes(count: int) -> list[str]:
    """Return `count` different names of dishes."""
    rounds = [f" no. {number}" if number > 1 else "" for number in range(1, count // len(_NAMES) + 2)]
    return [name + suffix for suffix in rounds for name in _NAMES][:count]


def guests(count: int) -> list[str]:
    """Return `count` different names of customers."""
    return [f"customer_{number:06d}" for number in range(1, count + 1)]


def run_id(options: Options) -> str:
    """Return the prefix of a run's ids, which depends on seed and start."""
    start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
    return hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]


class Turns:
    """The order of turns: half of them are of all members in turn, half of frequent ones."""

    def __init__(self, size: int, random: Random) -> None:
        self._size = size
        self._chance = random.random
        self._next = -1

    def next(self) -> int:
        """Return a number below the size. All numbers occur eventually."""
        if self._chance() < 0.5:
            return int(self._size * self._chance() ** 2)
        self._next = (self._next + 1) % self._size
        return self._next
