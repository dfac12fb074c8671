"""Visitors click through the site in visits, stay away for longer than the gap, and come back."""

import statistics
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from producers.user_clicks import GAP_MS
from session_analytics.model import UserClick

pytestmark = pytest.mark.long

Clicks = dict[str, list[UserClick]]


@pytest.fixture(scope="module")
def events() -> list[Event[UserClick]]:
    return list(generate("user_clicks", Options(count=40_000, keys=1500, event_rate=60)))


@pytest.fixture(scope="module")
def users(events: list[Event[UserClick]]) -> Clicks:
    return by_user(events)


def by_user(events: list[Event[UserClick]]) -> Clicks:
    results: Clicks = defaultdict(list)
    for event in events:
        results[event.key].append(event.value)
    return results


def sessions(clicks: list[UserClick]) -> list[list[UserClick]]:
    """Split one user's clicks where they are more than the gap apart."""
    sessions = [clicks[:1]]
    for before, click in pairwise(clicks):
        if click.timestamp - before.timestamp > GAP_MS:
            sessions.append([])
        sessions[-1].append(click)
    return sessions


def test_every_required_field_is_filled(events: list[Event[UserClick]]) -> None:
    for event in events:
        value = event.value
        assert event.key == value.user_id
        assert value.page.startswith("/")
        assert value.duration_on_page >= 0
        assert event.timestamp == value.timestamp
    assert len({event.value.click_id for event in events}) == len(events)


def test_all_users_come_and_come_back(users: Clicks) -> None:
    assert len(users) == 1500
    assert sum(len(sessions(clicks)) > 1 for clicks in users.values()) > 750


def test_sessions_have_several_clicks_and_differ(users: Clicks) -> None:
    lengths = [len(session) for clicks in users.values() for session in sessions(clicks)]
    assert 4 <= statistics.median(lengths) <= 12
    assert min(lengths) == 1
    assert max(lengths) > 30


def test_gaps_are_real_and_marked_on_the_first_click_after_them(users: Clicks) -> None:
    marked = 0
    for clicks in users.values():
        for number, session in enumerate(sessions(clicks)):
            marks = [click.session_info is not None and click.session_info.has_simulated_gap for click in session]
            assert marks == [number > 0] + [False] * (len(session) - 1)
            marked += marks[0] is True
    assert marked > 1500


def test_pauses_within_a_session_are_short_and_between_sessions_long(users: Clicks) -> None:
    within = [b.timestamp - a.timestamp for clicks in users.values() for s in sessions(clicks) for a, b in pairwise(s)]
    between = [b[0].timestamp - a[-1].timestamp for clicks in users.values() for a, b in pairwise(sessions(clicks))]
    assert 3_000 <= statistics.median(within) <= 12_000
    assert max(within) <= 25_000
    assert min(between) > GAP_MS
    assert statistics.median(between) > 2 * GAP_MS


def test_sequence_numbers_count_each_users_clicks_from_1(users: Clicks) -> None:
    for clicks in users.values():
        assert [click.sequence_number for click in clicks] == list(range(1, len(clicks) + 1))


def test_a_session_is_held_on_one_device_from_one_referrer(users: Clicks) -> None:
    for clicks in users.values():
        for session in sessions(clicks):
            assert len({(click.device_info, click.user_agent, click.referrer) for click in session}) == 1
    assert any(len({click.user_agent for click in clicks}) == 2 for clicks in users.values())


def test_pages_have_categories_and_a_few_convert(events: list[Event[UserClick]]) -> None:
    pages = Counter(event.value.page for event in events)
    assert pages["/products/1"] > 5 * pages["/products/12"] > 0
    metadata = [event.value.page_metadata for event in events if event.value.page_metadata is not None]
    assert len(metadata) < len(events)
    assert len({item.category for item in metadata}) >= 8
    assert 0.005 < sum(item.is_conversion_page is True for item in metadata) / len(events) < 0.05
    assert any(item.requires_auth for item in metadata)


def test_devices_and_referrers_are_weighted(events: list[Event[UserClick]]) -> None:
    devices = Counter(event.value.device_info.type for event in events if event.value.device_info)
    assert devices["mobile"] > devices["desktop"] > devices["tablet"] > 0
    referrers = Counter(event.value.referrer for event in events)
    assert len(referrers) >= 6
    assert referrers[None] > 0


@pytest.mark.parametrize(("keys", "event_rate"), [(400, 400), (100, 400), (50, 10), (2000, 20)])
def test_gaps_are_real_at_any_rate(keys: int, event_rate: float) -> None:
    """Even with as many users as clicks per second (the default), every user rests now and then."""
    events = list(generate("user_clicks", Options(count=int(180 * event_rate), keys=keys, event_rate=event_rate)))
    results = [sessions(clicks) for clicks in by_user(events).values()]
    assert sum(len(item) > 1 for item in results) > len(results) / 4


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_a_handful_of_users_is_enough(keys: int) -> None:
    results = {event.key for event in generate("user_clicks", Options(count=90_000, keys=keys, event_rate=1000))}
    assert len(results) == keys
