"""Visits of a shop's users (topic user_activity)."""

from __future__ import annotations

import hashlib
from random import Random

from forebay.producing.base import FIXED_START_MS, Event, Options, Source
from producers.draws import MASK, lognormal, weighted_table
from producers.population import Population, Setting
from user_sessions.model import UserActivity

_PRODUCTS = [f"/products/{number}" for number in range(1, 13)]
_STEPS = weighted_table(
    [
        (("page_view", "/products"), 12.0),
        (("page_view", "/home"), 8.0),
        (("page_view", "/offers"), 5.0),
        (("page_view", "/account"), 3.0),
        (("page_view", "/help"), 1.5),
        (("search", "/search"), 9.0),
        (("click", "/search"), 5.0),
        (("click", None), 2.0),
        (("add_to_cart", "/cart"), 4.0),
        (("page_view", "/cart"), 3.0),
        (("purchase", "/checkout"), 1.5),
        *((("page_view", page), 24.0 / rank) for rank, page in enumerate(_PRODUCTS, start=1)),
        *((("click", page), 8.0 / rank) for rank, page in enumerate(_PRODUCTS, start=1)),
    ]
)
_MEAN_PAUSE_S = 15
_RESUMES = 0.05
_LOGS_OUT = 0.3


class _Visit:
    """A session in progress."""

    __slots__ = ("begun", "left", "session_id", "setting", "user", "user_id")

    def __init__(self) -> None:
        self.user = -1
        self.left = 0
        self.begun = False
        self.user_id = self.session_id = ""
        self.setting = Setting("", None, None)


class UserActivityGenerator:
    """A number of users is on the site at any time. Each event is the next step of one of them.

    When a session is over, another user begins one: half of them are of all users in turn, half of frequent users.
    One in twenty continues the user's last session id, as a tab left open does.
    """

    def __init__(self, options: Options) -> None:
        start_ms = FIXED_START_MS if options.start_ms is None else options.start_ms
        self._random = random = Random(f"user_activity {options.seed}")
        self._population = Population(options.keys, random)
        self._durations = lognormal(random, median=1800, sigma=1.1, low=0, high=120_000)
        self._lengths = lognormal(random, median=7, sigma=0.7, low=1, high=120)
        self._sessions = [0] * options.keys
        self._settings: list[Setting | None] = [None] * options.keys
        self._present = bytearray(options.keys)
        size = min(int(options.events_per_second * _MEAN_PAUSE_S), options.keys // 3)
        self._visits = [_Visit() for _ in range(max(1, size))]
        self._run = hashlib.sha256(f"{options.seed} {start_ms}".encode()).hexdigest()[:8]
        self._number = 0

    def next_event(self, timestamp: int) -> Event[UserActivity]:
        """Return the next step of one of the users present."""
        random = self._random
        visits = self._visits
        visit = visits[int(random.random() * len(visits))]
        if visit.left == 0:
            self._begin(visit)
        visit.left -= 1
        bits = random.getrandbits(24)
        action, page = _STEPS[bits & MASK]
        if not visit.begun:
            visit.begun = True
            action, page = "login", "/home"
        elif visit.left == 0 and random.random() < _LOGS_OUT:
            action, page = "logout", "/account"
        self._number = number = self._number + 1
        user_id = visit.user_id
        setting = visit.setting
        value = UserActivity(
            event_id=f"{self._run}-{number:08x}",
            user_id=user_id,
            action=action,
            session_id=visit.session_id,
            duration_ms=self._durations[bits >> 12],
            timestamp=timestamp,
            page=page,
            browser=setting.browser,
            device_type=setting.device_type,
            location=setting.location,
        )
        return Event(user_id, value, timestamp)

    def _begin(self, visit: _Visit) -> None:
        random, population = self._random, self._population
        if visit.user >= 0:
            self._present[visit.user] = 0
        user = population.frequent() if random.random() < 0.5 else population.regular()
        while self._present[user]:
            user = population.regular()
        self._present[user] = 1
        setting = self._settings[user]
        resumes = setting is not None and random.random() < _RESUMES
        if setting is None or not resumes:
            self._sessions[user] += 1
            setting = self._settings[user] = population.setting(user)
        visit.user, visit.user_id, visit.begun, visit.setting = user, population.names[user], resumes, setting
        visit.session_id = f"session_{visit.user_id}_{self._run}_{self._sessions[user]}"
        visit.left = self._lengths[random.getrandbits(12)]


SOURCE = Source("user_activity", "user-sessions", "UserActivity", UserActivity, UserActivityGenerator, "session_id")
