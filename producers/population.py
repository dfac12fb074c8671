"""The users of a synthetic site: their homes, devices and frequency of visits."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from producers.draws import MASK, weighted_table
from user_sessions.model import Location

_HOMES = (
    (("US", "New York"), 9.0),
    (("US", "San Francisco"), 7.0),
    (("US", "Chicago"), 5.0),
    (("GB", "London"), 8.0),
    (("DE", "Berlin"), 6.0),
    (("DE", "Munich"), 3.0),
    (("FR", "Paris"), 6.0),
    (("NL", "Amsterdam"), 4.0),
    (("NL", "Utrecht"), 2.0),
    (("CA", "Toronto"), 4.0),
    (("ES", "Madrid"), 3.0),
    (("PL", "Warsaw"), 3.0),
    (("SE", "Stockholm"), 2.0),
    (("IN", "Bengaluru"), 6.0),
    (("BR", "São Paulo"), 5.0),
    (("JP", "Tokyo"), 5.0),
    (("AU", "Sydney"), 2.0),
)
_DEVICES = (
    (("mobile", "chrome"), 30.0),
    (("mobile", "safari"), 20.0),
    (("desktop", "chrome"), 24.0),
    (("desktop", "firefox"), 8.0),
    (("desktop", "edge"), 7.0),
    (("desktop", "safari"), 5.0),
    (("tablet", "safari"), 4.0),
    (("tablet", "chrome"), 2.0),
    (("mobile", None), 3.0),
)
_PLACES = weighted_table([(Location(country, city), weight) for (country, city), weight in _HOMES])
_KITS = weighted_table(_DEVICES)
_SECOND_DEVICE = 0.25
_TRAVELS = 0.03
_UNLOCATED = 0.02


@dataclass(frozen=True, slots=True)
class Setting:
    """The device, browser and location of a session. Without a browser, it is in an app."""

    device_type: str
    browser: str | None
    location: Location | None


class Population:
    """A number of users. Each has a home, a first and a second device, which most sessions use."""

    def __init__(self, size: int, random: Random) -> None:
        self.names = [f"user_{number:06d}" for number in range(size)]
        self._random = random
        self._habits = [random.getrandbits(36) for _ in range(size)]
        self._settings: dict[tuple[int, int], Setting] = {}
        self._order = list(range(size))
        random.shuffle(self._order)
        self._next = 0

    def regular(self) -> int:
        """Return the next user in turn, so that all users have visits."""
        user = self._order[self._next]
        self._next = (self._next + 1) % len(self._order)
        return user

    def frequent(self) -> int:
        """Return a frequent user. A tenth of the users makes a third of these visits."""
        return int(len(self.names) * self._random.random() ** 2)

    def setting(self, user: int) -> Setting:
        """Return the random setting of the user's next session."""
        habit = self._habits[user]
        chance = self._random.random
        kit = (habit >> 12 if chance() < _SECOND_DEVICE else habit) & MASK
        place = self._random.getrandbits(12) if chance() < _TRAVELS else (habit >> 24) & MASK
        if chance() < _UNLOCATED:
            place = -1
        setting = self._settings.get((kit, place))
        if setting is None:
            device_type, browser = _KITS[kit]
            setting = Setting(device_type, browser, None if place < 0 else _PLACES[place])
            self._settings[kit, place] = setting
        return setting
