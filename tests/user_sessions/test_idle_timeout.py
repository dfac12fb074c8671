"""A session ends once after the idle timeout, even if the topic is idle."""

import pytest

from tests.user_sessions.harness import MINUTE, START, activity, driver, pipe, profile
from user_sessions.model import CurrentContext, Session
from user_sessions.settings import UserSessionsSettings

TIMEOUT = 30 * MINUTE


def test_events_of_other_users_end_an_idle_session() -> None:
    task = driver()
    pipe(task, 0, "s1", duration_ms=4)
    pipe(task, MINUTE, "s1", duration_ms=5)
    ended, other = task.pipe("bob", activity(MINUTE + TIMEOUT))
    assert (ended.key, ended.timestamp) == ("ann", START + MINUTE + TIMEOUT)
    assert other.key == "bob"
    assert ended.value.session_ended
    assert ended.value.ended_session == Session("s1", START, START + MINUTE, 2, 9)
    assert ended.value.current_session is None
    assert ended.value.activity is None
    assert ended.value.current_context == CurrentContext(None, None, None)
    assert ended.value.session_totals.total_sessions == 1
    assert ended.value.user_profile.last_activity == START + MINUTE
    assert profile(task).current_session is None


def test_session_does_not_end_a_millisecond_early() -> None:
    task = driver()
    pipe(task, 0)
    assert [o.key for o in task.pipe("bob", activity(TIMEOUT - 1))] == ["bob"]
    assert [o.key for o in task.pipe("bob", activity(TIMEOUT))] == ["ann", "bob"]


def test_activity_postpones_the_end() -> None:
    task = driver()
    for at in range(0, 100 * MINUTE, 20 * MINUTE):
        assert not pipe(task, at).session_ended
    assert task.timers() == 1


def test_session_ends_on_an_idle_topic() -> None:
    task = driver()
    pipe(task, 0)
    assert task.advance_wall_time(TIMEOUT - 1) == []
    (ended,) = task.advance_wall_time(1)
    assert ended.value.session_ended
    assert ended.timestamp == START + TIMEOUT
    assert task.advance_wall_time(10 * TIMEOUT) == []
    assert task.timers() == 0


@pytest.mark.parametrize("session", ["s1", "s2"])
def test_the_next_event_opens_a_session_and_ends_none(session: str) -> None:
    task = driver()
    pipe(task, 0, "s1")
    task.advance_wall_time(TIMEOUT)
    stats = pipe(task, 2 * TIMEOUT, session)
    assert not stats.session_ended
    assert stats.ended_session is None
    assert stats.current_session == session
    assert stats.session_totals.total_sessions == 1
    assert profile(task).current_session == Session(session, START + 2 * TIMEOUT, START + 2 * TIMEOUT, 1, 10)


def test_next_event_of_an_idle_user_starts_a_new_session() -> None:
    task = driver()
    pipe(task, 0, "s1")
    ended, opened = task.pipe("ann", activity(TIMEOUT, "s2"))
    assert ended.value.ended_session == Session("s1", START, START, 1, 10)
    assert opened.value.ended_session is None
    assert opened.value.session_totals.total_sessions == 1


def test_session_switch_restarts_the_idle_timer() -> None:
    task = driver()
    pipe(task, 0, "s1")
    pipe(task, 20 * MINUTE, "s2")
    (ended,) = task.advance_wall_time(TIMEOUT)
    assert ended.value.ended_session == Session("s2", START + 20 * MINUTE, START + 20 * MINUTE, 1, 10)
    assert ended.value.session_totals.total_sessions == 2


def test_older_session_that_becomes_current_ends_at_its_own_timeout() -> None:
    task = driver()
    pipe(task, 10 * MINUTE, "s2")
    pipe(task, 0, "s1")
    (ended,) = task.advance_wall_time(TIMEOUT)
    assert ended.timestamp == START + TIMEOUT
    assert ended.value.ended_session == Session("s1", START, START, 1, 10)


def test_sessions_end_in_order_of_time_then_user() -> None:
    task = driver()
    pipe(task, 0, key="dan")
    pipe(task, 1, key="bob")
    pipe(task, 1, key="ann")
    pipe(task, 2, key="dan")
    assert [o.key for o in task.advance_wall_time(2 * TIMEOUT)] == ["ann", "bob", "dan"]


def test_late_event_of_an_ended_session_gets_separate_totals() -> None:
    task = driver()
    pipe(task, 0, "s1")
    task.pipe("bob", activity(2 * TIMEOUT))
    pipe(task, 10, "s1")
    ended = next(o for o in task.pipe("bob", activity(2 * TIMEOUT + 1)) if o.key == "ann")
    assert ended.value.ended_session == Session("s1", START + 10, START + 10, 1, 10)
    assert ended.value.session_totals.total_sessions == 2


def test_timeout_of_zero_never_ends_a_session() -> None:
    task = driver(UserSessionsSettings(idle_timeout_ms=0))
    pipe(task, 0)
    assert task.timers() == 0
    assert task.advance_wall_time(1000 * TIMEOUT) == []
    assert not pipe(task, 1000 * TIMEOUT).session_ended


def test_idle_timer_survives_a_restart() -> None:
    task = driver()
    pipe(task, 0)
    task.restart()
    assert len(task.advance_wall_time(TIMEOUT)) == 1
