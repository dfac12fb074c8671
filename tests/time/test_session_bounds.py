"""Every bound of sessions: which records merge, which are late, and when sessions close."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.time import SessionWindows, Window, merge

SESSIONS = SessionWindows(gap_ms=10, grace_ms=5)


@pytest.mark.parametrize(
    ("ts", "merges"), [(89, False), (90, True), (100, True), (105, True), (120, True), (121, False)]
)
def test_a_distance_equal_to_the_gap_merges(ts: int, merges: bool) -> None:
    session, reach = Window(100, 110), SESSIONS.reach(ts)
    assert SESSIONS.merges(session, ts) is merges
    assert (session.end >= reach.start and session.start <= reach.end) is merges


def test_a_session_closes_one_ms_after_its_gap_and_grace() -> None:
    session = Window(0, 100)
    assert SESSIONS.closes_at(session) == 116
    assert [SESSIONS.is_closed(session, now) for now in (115, 116)] == [False, True]
    assert SESSIONS.open_from(115) == session.end


def test_the_shortest_retention_is_gap_plus_grace() -> None:
    assert SESSIONS.retention_ms == 15


def test_a_gap_of_nothing_and_a_negative_grace_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SessionWindows(0)
    with pytest.raises(ValueError, match="grace of -1"):
        SessionWindows(1, grace_ms=-1)
    assert SessionWindows(1).gap_ms == 1


@given(a=st.tuples(st.integers(0, 50), st.integers(0, 50)), b=st.tuples(st.integers(0, 50), st.integers(0, 50)))
def test_a_merged_session_covers_both(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, two = Window(min(a), max(a)), Window(min(b), max(b))
    merged = merge(one, two)
    assert merged == merge(two, one)
    assert (merged.start, merged.end) == (min(*a, *b), max(*a, *b))
