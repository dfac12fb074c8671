"""Clicks of a closed session go to .late and change nothing. Late clicks of an open session count."""

from tests.session_analytics.harness import GAP, SECOND, click, driver, pipe, stores


def test_click_older_than_the_gap_without_an_open_session_is_late() -> None:
    task = driver()
    pipe(task, 100 * SECOND, key="bob")
    before = stores(task)
    assert task.pipe("ann", click(100 * SECOND - GAP - 7)) == []
    (late,) = task.late
    assert late.key == b"ann"
    assert late.headers["late.by_ms"] == "7"
    assert stores(task) == before


def test_a_click_exactly_the_gap_old_is_in_time() -> None:
    task = driver()
    pipe(task, 100 * SECOND, key="bob")
    assert pipe(task, 100 * SECOND - GAP, key="ann").session_metrics.pages_visited_count == 1
    assert task.late == []


def test_a_click_older_than_that_still_extends_a_session_that_is_open() -> None:
    task = driver()
    pipe(task, 75 * SECOND, key="ann")
    pipe(task, 100 * SECOND, key="bob")
    assert pipe(task, 50 * SECOND, key="ann").session_metrics.session_duration_ms == 25 * SECOND
    assert task.late == []


def test_ended_session_accepts_no_click() -> None:
    task = driver()
    pipe(task, 0)
    task.pipe("bob", click(GAP + 1))
    assert task.pipe("ann", click(0)) == []
    assert len(task.late) == 1
    begun = pipe(task, 5)
    assert begun.session_metrics.pages_visited_count == 1
    assert begun.user_profile.total_sessions == 2


def test_a_late_click_is_not_remembered_as_seen() -> None:
    task = driver()
    pipe(task, 100 * SECOND, key="bob")
    for _ in range(2):
        task.pipe("ann", click(0, click_id="c1"))
    assert len(task.late) == 2
    assert task.duplicates == 0
