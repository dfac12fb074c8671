"""Lists and maps of the state never exceed the limit, and the choice of evicted entries is deterministic."""

import pytest

from tests.user_sessions.harness import driver, pipe, profile
from user_sessions.model import Location
from user_sessions.settings import UserSessionsSettings


def test_lists_lose_the_oldest() -> None:
    task = driver(UserSessionsSettings(list_limit=2))
    for at, name in enumerate(["a", "b", "c", "a"]):
        known = pipe(task, at, device_type=name, browser=name, location=Location(name, None)).user_profile
    assert known.devices_used == known.browsers_used == known.countries_visited == ("c", "a")


def test_counts_drop_the_smallest_then_the_last_by_name() -> None:
    task = driver(UserSessionsSettings(list_limit=3))
    for at, name in enumerate(["a", "a", "c", "b", "d"]):
        stats = pipe(task, at, page=name, action=name)
    assert profile(task).page_counts == {"a": 2, "b": 1, "d": 1}
    assert stats.session_totals.action_counts == {"a": 2, "b": 1, "d": 1}
    assert stats.session_totals.unique_actions == 3
    assert stats.user_profile.pages_visited == 3
    assert stats.user_profile.most_visited_pages == ("a", "b", "d")


def test_evicted_name_restarts_at_one() -> None:
    task = driver(UserSessionsSettings(list_limit=1))
    for at, name in enumerate(["a", "a", "b", "a"]):
        pipe(task, at, page=name, action=name)
    assert profile(task).page_counts == {"a": 1}


def test_list_limit_is_100_by_default() -> None:
    task = driver()
    for at in range(130):
        pipe(task, at, page=f"/{at}", action=f"a{at}", device_type=f"d{at}")
    state = profile(task)
    assert len(state.page_counts) == len(state.actions_count) == len(state.devices_used) == 100
    assert state.devices_used[0] == "d30"


@pytest.mark.parametrize(("name", "value"), [("list_limit", 0), ("idle_timeout_ms", -1)])
def test_senseless_settings_are_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}: use"):
        UserSessionsSettings(**{name: value})
