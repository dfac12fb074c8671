"""Late events never move last_activity backwards nor first_seen forwards."""

from tests.user_sessions.harness import MINUTE, START, activity, driver, pipe, profile
from user_sessions.model import Session


def test_an_older_event_counts_but_does_not_move_last_activity_backwards() -> None:
    task = driver()
    pipe(task, 1000)
    stats = pipe(task, 400)
    assert stats.user_profile.last_activity == START + 1000
    assert stats.user_profile.first_seen == START + 400
    assert stats.session_totals.total_time_ms == 20


def test_a_newer_event_does_not_move_first_seen() -> None:
    task = driver()
    pipe(task, 400)
    stats = pipe(task, 1000)
    assert stats.user_profile.first_seen == START + 400
    assert stats.user_profile.last_activity == START + 1000


def test_an_older_event_stretches_its_session_backwards_only() -> None:
    task = driver()
    pipe(task, 1000)
    pipe(task, 400)
    assert profile(task).current_session == Session("s1", START + 400, START + 1000, 2, 20)


def test_an_older_event_of_another_session_switches_too() -> None:
    task = driver()
    pipe(task, 1000, "s2")
    stats = pipe(task, 400, "s1")
    assert stats.session_ended
    assert stats.current_session == "s1"
    assert stats.user_profile.last_activity == START + 1000
    assert stats.ended_session == Session("s2", START + 1000, START + 1000, 1, 10)


def test_older_event_does_not_shorten_the_idle_timeout() -> None:
    task = driver()
    pipe(task, 20 * MINUTE)
    pipe(task, 0)
    assert task.pipe("bob", activity(50 * MINUTE - 1))[0].key == "bob"
    assert profile(task).current_session is not None
