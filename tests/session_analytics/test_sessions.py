"""The gap determines which clicks belong to one session, and when two sessions are merged."""

from tests.session_analytics.harness import GAP, SECOND, START, click, driver, pipe, spans


def test_the_first_click_opens_a_session_named_after_user_and_start() -> None:
    result = pipe(driver(), 0)
    assert result.session_id == f"session_ann_{START}"
    assert result.session_metrics.pages_visited_count == 1
    assert result.session_metrics.session_duration_ms == 0


def test_click_exactly_one_gap_later_belongs_to_the_session() -> None:
    task = driver()
    first = pipe(task, 0)
    second = pipe(task, GAP)
    assert second.session_id == first.session_id
    assert second.session_metrics.session_duration_ms == GAP
    assert second.session_insights.time_since_last_activity == GAP


def test_click_one_ms_after_the_gap_starts_another_session() -> None:
    task = driver()
    pipe(task, 0)
    ended, begun = task.run_batch([("ann", click(GAP + 1))])
    assert ended.value.session_status == "ended"
    assert begun.value.session_id == f"session_ann_{START + GAP + 1}"
    assert begun.value.session_metrics.pages_visited_count == 1
    assert begun.value.session_insights.time_since_last_activity is None


def test_the_gap_is_a_setting() -> None:
    task = driver(gap_ms=5)
    pipe(task, 0)
    assert pipe(task, 5).session_metrics.pages_visited_count == 2
    assert pipe(task, 5).session_insights.session_timeout_ms == 5
    assert len(task.pipe("ann", click(11))) == 2


def test_users_have_sessions_of_their_own() -> None:
    task = driver()
    pipe(task, 0, key="ann")
    assert pipe(task, 1, key="bob").session_metrics.pages_visited_count == 1


def test_a_click_between_two_open_sessions_joins_them() -> None:
    task = driver(grace_ms=60 * SECOND)
    pipe(task, 0, "/a")
    other = pipe(task, 50 * SECOND, "/c")
    assert other.user_profile.total_sessions == 2
    joined = pipe(task, 25 * SECOND, "/b")
    assert joined.session_id == f"session_ann_{START}"
    assert joined.session_metrics.pages_visited_count == 3
    assert joined.session_metrics.pages_visited == ("/a", "/b", "/c")
    assert joined.session_metrics.total_time_ms == 30
    assert joined.session_metrics.last_activity == START + 50 * SECOND
    assert joined.user_profile.total_sessions == 1
    assert spans(task.advance_wall_time(10**6)) == [("ann", 0, 50 * SECOND, 3)]


def test_an_earlier_click_extends_the_session_backwards_and_its_id_follows() -> None:
    task = driver()
    pipe(task, 40 * SECOND, "/b")
    result = pipe(task, 15 * SECOND, "/a")
    assert result.session_id == f"session_ann_{START + 15 * SECOND}"
    assert result.session_metrics.last_activity == START + 40 * SECOND
    assert result.session_metrics.pages_visited == ("/a", "/b")
    assert result.session_insights.time_since_last_activity == 0
    assert result.user_profile.total_sessions == 1


def test_a_second_click_at_the_same_time_belongs_to_the_same_session() -> None:
    task = driver()
    pipe(task, 0)
    result = pipe(task, 0)
    assert result.session_metrics.pages_visited_count == 2
    assert result.session_insights.time_since_last_activity == 0
    assert result.user_profile.total_sessions == 1
