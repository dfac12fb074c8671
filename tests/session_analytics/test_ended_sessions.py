"""A session ends once, with a separate record, when it can't grow any more."""

from collections.abc import Callable

import pytest

from session_analytics.model import DeviceContext
from tests.session_analytics.harness import GAP, SECOND, START, click, driver, pipe, spans


def test_click_of_another_user_ends_a_session_one_ms_after_its_gap() -> None:
    task = driver()
    pipe(task, 0, key="ann")
    assert spans(task.pipe("bob", click(GAP))) == []
    assert spans(task.pipe("bob", click(GAP + 1))) == [("ann", 0, 0, 1)]


def test_ended_session_record_has_its_id_and_metrics_but_no_click() -> None:
    task = driver()
    pipe(task, 0, "/a", duration_on_page=5)
    pipe(task, 10 * SECOND, "/b", duration_on_page=6)
    ended, begun = task.pipe("ann", click(60 * SECOND, "/c"))
    assert (ended.key, ended.timestamp) == ("ann", START + 10 * SECOND)
    result = ended.value
    assert (result.session_status, result.session_id) == ("ended", f"session_ann_{START}")
    assert result.session_metrics.pages_visited == ("/a", "/b")
    assert result.session_metrics.total_time_ms == 11
    assert result.user_profile.total_sessions == 1
    assert result.current_event is None
    assert result.device_context == DeviceContext(None, None, None)
    assert result.session_insights.time_since_last_activity is None
    assert result.session_insights.has_simulated_gap is None
    assert result.session_insights.avg_time_per_page == 5.5
    assert begun.value.session_status == "active"
    assert begun.value.user_profile.total_sessions == 2


def test_a_jump_of_time_ends_all_that_are_open_by_last_click_then_first_click_then_user() -> None:
    task = driver()
    for user, at in (("bob", 0), ("ann", 5), ("cas", 5), ("bob", 4), ("dan", 5), ("dan", 3)):
        pipe(task, at, key=user)
    ended = spans(task.pipe("eve", click(10**9)))
    assert ended == [("bob", 0, 4, 2), ("dan", 3, 5, 2), ("ann", 5, 5, 1), ("cas", 5, 5, 1)]


def test_idle_time_does_not_end_a_session_before_its_gap() -> None:
    task = driver()
    pipe(task, 0)
    assert task.advance_wall_time(30 * SECOND) == []
    assert pipe(task, 30 * SECOND).session_metrics.pages_visited_count == 2
    assert spans(task.advance_wall_time(30 * SECOND + 1)) == [("ann", 0, 30 * SECOND, 2)]


def test_an_idle_topic_ends_all_sessions_after_the_timeout_and_none_twice() -> None:
    task = driver(idle_timeout_ms=10 * SECOND)
    pipe(task, 0, key="ann")
    pipe(task, 20 * SECOND, key="bob")
    assert task.advance_wall_time(10 * SECOND - 1) == []
    assert spans(task.advance_wall_time(1)) == [("ann", 0, 0, 1), ("bob", 20 * SECOND, 20 * SECOND, 1)]
    assert task.advance_wall_time(10**9) == []
    assert spans(task.pipe("cas", click(10**6))) == []


@pytest.mark.parametrize("idle_timeout_ms", [1, 5_000, 30_000])
def test_the_idle_timeout_is_a_setting(idle_timeout_ms: int) -> None:
    task = driver(idle_timeout_ms=idle_timeout_ms)
    pipe(task, 0)
    assert task.advance_wall_time(idle_timeout_ms - 1) == []
    assert len(task.advance_wall_time(1)) == 1


def test_a_session_ended_by_the_idle_timeout_never_grows_again() -> None:
    task = driver(idle_timeout_ms=30 * SECOND)
    pipe(task, 0)
    task.advance_wall_time(30 * SECOND)
    result = pipe(task, 10 * SECOND)
    assert result.session_id == f"session_ann_{START + 10 * SECOND}"
    assert result.session_metrics.pages_visited_count == 1
    assert result.user_profile.total_sessions == 2


def test_a_grace_keeps_it_open_for_late_clicks() -> None:
    task = driver(grace_ms=10 * SECOND)
    pipe(task, 0, key="ann")
    assert spans(task.pipe("bob", click(40 * SECOND))) == []
    assert pipe(task, 5 * SECOND, key="ann").session_metrics.pages_visited_count == 2
    assert spans(task.pipe("bob", click(45 * SECOND))) == []
    assert spans(task.pipe("bob", click(45 * SECOND + 1))) == [("ann", 0, 5 * SECOND, 2)]


def test_extended_session_ends_only_after_its_last_gap() -> None:
    task = driver()
    for at in range(0, 300 * SECOND, 20 * SECOND):
        pipe(task, at)
    assert spans(task.outputs) == []
    assert spans(task.advance_wall_time(30 * SECOND + 1)) == [("ann", 0, 280 * SECOND, 15)]


@pytest.mark.parametrize("restart_after", range(4))
def test_restart_loses_and_repeats_no_ended_session(restart_after: int) -> None:
    task = driver()
    steps: list[Callable[[], object]] = [
        lambda: task.pipe("ann", click(0)),
        lambda: task.pipe("bob", click(GAP + 1)),
        lambda: task.advance_wall_time(30 * SECOND + 1),
        lambda: task.pipe("ann", click(500 * SECOND)),
    ]
    for number, step in enumerate(steps):
        step()
        if number == restart_after:
            task.restart()
    task.advance_wall_time(30 * SECOND + 1)
    at = 500 * SECOND
    assert spans(task.outputs) == [("ann", 0, 0, 1), ("bob", GAP + 1, GAP + 1, 1), ("ann", at, at, 1)]
