"""An output contains the statistics of the event and the user, and the totals."""

from tests.user_sessions.harness import START, driver, pipe, profile
from user_sessions.model import Activity, CurrentContext, Location


def test_output_repeats_the_event_and_its_context() -> None:
    stats = pipe(driver(), 5, event_id="e1", action="search", page="/search", duration_ms=20)
    assert stats.activity == Activity("e1", "search", "/search", 20, START + 5)
    assert stats.current_context == CurrentContext("desktop", "firefox", Location("NL", "Utrecht"))


def test_missing_optional_fields_stay_null_and_are_not_counted() -> None:
    task = driver()
    stats = pipe(task, 0, user_id=None, page=None, browser=None, device_type=None, location=None)
    assert stats.activity == Activity(None, "click", None, 10, START)
    assert stats.current_context == CurrentContext(None, None, None)
    known = stats.user_profile
    assert (known.devices_used, known.browsers_used, known.countries_visited) == ((), (), ())
    assert (known.pages_visited, known.most_visited_pages) == (0, ())


def test_empty_texts_are_not_counted() -> None:
    known = pipe(driver(), 0, page="", browser="", device_type="", location=Location("", "Utrecht")).user_profile
    assert (known.devices_used, known.browsers_used, known.countries_visited) == ((), (), ())
    assert known.pages_visited == 0


def test_actions_and_time_add_up_over_sessions() -> None:
    task = driver()
    pipe(task, 0, "s1", action="login", duration_ms=0)
    pipe(task, 1, "s1", action="click", duration_ms=5)
    totals = pipe(task, 2, "s2", action="click", duration_ms=6).session_totals
    assert totals.total_time_ms == 11
    assert totals.action_counts == {"login": 1, "click": 2}
    assert totals.unique_actions == 2
    assert profile(task).actions_count == {"login": 1, "click": 2}


def test_counters_go_beyond_32_bits() -> None:
    task = driver()
    pipe(task, 0, duration_ms=2**40)
    stats = pipe(task, 1, duration_ms=2**40)
    assert stats.session_totals.total_time_ms == 2**41
    assert pipe(task, 2, "s2").ended_session.duration_ms == 2**41  # type: ignore[union-attr]


def test_devices_browsers_and_countries_are_listed_once_in_order_of_first_use() -> None:
    task = driver()
    pipe(task, 0, device_type="mobile", browser="safari", location=Location("US", None))
    pipe(task, 1, device_type="desktop", browser="edge", location=Location("DE", None))
    known = pipe(task, 2, device_type="mobile", browser="safari", location=Location("US", None)).user_profile
    assert known.devices_used == ("mobile", "desktop")
    assert known.browsers_used == ("safari", "edge")
    assert known.countries_visited == ("US", "DE")
