"""Users come, look around in sessions of different lengths, leave, and come back."""

import statistics
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from user_sessions.model import UserActivity


@pytest.fixture(scope="module")
def events() -> list[Event[UserActivity]]:
    return list(generate("user_activity", Options(count=60_000, keys=2000, event_rate=100)))


def by_user(events: list[Event[UserActivity]]) -> dict[str, list[UserActivity]]:
    users: dict[str, list[UserActivity]] = defaultdict(list)
    for event in events:
        users[event.key].append(event.value)
    return users


def test_every_required_field_is_filled(events: list[Event[UserActivity]]) -> None:
    for event in events:
        value = event.value
        assert event.key == value.user_id
        assert value.action
        assert value.session_id
        assert value.duration_ms >= 0
        assert event.timestamp == value.timestamp


def test_all_users_come_and_some_come_more_often(events: list[Event[UserActivity]]) -> None:
    counts = sorted(Counter(event.key for event in events).values(), reverse=True)
    assert len(counts) == 2000
    assert counts[0] > 2 * statistics.median(counts)


def test_session_lengths_differ_around_seven(events: list[Event[UserActivity]]) -> None:
    lengths = list(Counter(event.value.session_id for event in events).values())
    assert 5 <= statistics.median(lengths) <= 10
    assert max(lengths) > 30
    assert min(lengths) == 1


def test_a_user_holds_one_session_at_a_time_on_one_device(events: list[Event[UserActivity]]) -> None:
    for activities in by_user(events).values():
        switches = sum(a.session_id != b.session_id for a, b in pairwise(activities))
        assert switches == len({a.session_id for a in activities}) - 1
        devices = {(a.session_id, a.device_type, a.browser, a.location) for a in activities}
        assert len(devices) == len({a.session_id for a in activities})


def test_pauses_within_sessions_are_short_and_between_them_long(events: list[Event[UserActivity]]) -> None:
    within: list[int] = []
    between: list[int] = []
    for activities in by_user(events).values():
        for a, b in pairwise(activities):
            (within if a.session_id == b.session_id else between).append(b.timestamp - a.timestamp)
    assert 3_000 <= statistics.median(within) <= 20_000
    assert statistics.median(between) > 5 * statistics.median(within)


def test_a_session_begins_with_a_login_and_may_be_taken_up_again(events: list[Event[UserActivity]]) -> None:
    first: dict[str, str] = {}
    logins = Counter(event.value.session_id for event in events if event.value.action == "login")
    for event in events:
        first.setdefault(event.value.session_id, event.value.action)
    assert set(first.values()) == {"login"}
    assert set(logins.values()) == {1}


def test_pages_devices_and_places_are_weighted(events: list[Event[UserActivity]]) -> None:
    pages = Counter(event.value.page for event in events)
    assert pages["/products/1"] > 5 * pages["/products/12"] > 0
    assert pages[None] > 0
    devices = Counter(event.value.device_type for event in events)
    assert devices["mobile"] > devices["desktop"] > devices["tablet"] > 0
    countries = Counter(event.value.location.country for event in events if event.value.location)
    assert len(countries) >= 10
    assert any(event.value.location is None for event in events)
    assert any(event.value.browser is None for event in events)


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_handful_of_users_is_enough(keys: int) -> None:
    results = {event.key for event in generate("user_activity", Options(count=500, keys=keys))}
    assert len(results) == keys
