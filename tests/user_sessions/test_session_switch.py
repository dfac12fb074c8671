"""Another session id ends the current session, and an ended session has its own totals."""

from tests.user_sessions.harness import START, driver, pipe, profile
from user_sessions.model import Session


def test_first_event_opens_a_session_and_ends_none() -> None:
    stats = pipe(driver(), 0, "s1", duration_ms=0)
    assert stats.stats_type == "USER_SESSION_STATS"
    assert stats.user_id == "ann"
    assert stats.current_session == "s1"
    assert not stats.session_ended
    assert stats.ended_session is None
    assert stats.session_totals.total_sessions == 0


def test_the_same_session_id_continues_the_session() -> None:
    task = driver()
    pipe(task, 0, "s1")
    stats = pipe(task, 100, "s1")
    assert not stats.session_ended
    assert stats.current_session == "s1"
    assert stats.session_totals.total_sessions == 0


def test_another_session_id_ends_the_current_one_with_its_own_totals() -> None:
    task = driver()
    pipe(task, 0, "s0", duration_ms=1000)
    pipe(task, 100, "s1", duration_ms=7)
    pipe(task, 300, "s1", duration_ms=5)
    stats = pipe(task, 400, "s2", duration_ms=3)
    assert stats.session_ended
    assert stats.current_session == "s2"
    assert stats.session_totals.total_sessions == 2
    assert stats.session_totals.total_time_ms == 1015
    assert stats.ended_session == Session("s1", START + 100, START + 300, 2, 12)


def test_next_event_of_the_new_session_ends_no_session() -> None:
    task = driver()
    pipe(task, 0, "s1")
    pipe(task, 1, "s2")
    stats = pipe(task, 2, "s2")
    assert not stats.session_ended
    assert stats.ended_session is None
    assert stats.session_totals.total_sessions == 1


def test_an_ended_session_that_comes_back_starts_over() -> None:
    task = driver()
    pipe(task, 0, "s1", duration_ms=500)
    pipe(task, 1, "s2")
    assert pipe(task, 2, "s1", duration_ms=5).ended_session == Session("s2", START + 1, START + 1, 1, 10)
    assert profile(task).current_session == Session("s1", START + 2, START + 2, 1, 5)


def test_users_do_not_share_sessions() -> None:
    task = driver()
    pipe(task, 0, "s1", key="ann")
    stats = pipe(task, 1, "s2", key="bob")
    assert not stats.session_ended
    assert stats.user_id == "bob"
    assert profile(task, "ann").current_session == Session("s1", START, START, 1, 10)


def test_user_is_the_record_key() -> None:
    assert pipe(driver(), 0, key="bob", user_id="ann").user_id == "bob"


def test_open_session_is_in_the_state() -> None:
    task = driver()
    pipe(task, 10, "s1", duration_ms=4)
    pipe(task, 30, "s1", duration_ms=6)
    assert profile(task).current_session == Session("s1", START + 10, START + 30, 2, 10)
