"""Every bound of windows: which records belong, which are accepted, and when windows close."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.time import JoinWindows, SlidingWindows, TimeWindows, Window, hopping, tumbling, within


@given(size=st.integers(1, 40), advance=st.integers(1, 40), ts=st.integers(0, 500))
def test_a_record_belongs_to_exactly_the_windows_that_cover_it(size: int, advance: int, ts: int) -> None:
    advance = min(size, advance)
    covering = [Window(s, s + size) for s in range(0, ts + 1, advance) if s <= ts < s + size]
    assert TimeWindows(size, advance).windows_for(ts) == covering


def test_a_record_at_a_windows_end_belongs_to_the_next() -> None:
    assert tumbling(10).windows_for(9) == [Window(0, 10)]
    assert tumbling(10).windows_for(10) == [Window(10, 20)]


def test_no_window_starts_before_zero() -> None:
    assert hopping(10, 5).windows_for(0) == [Window(0, 10)]
    assert hopping(10, 3).windows_for(1) == [Window(0, 10)]
    with pytest.raises(ValueError, match="negative"):
        hopping(10, 5).windows_for(-1)


@pytest.mark.parametrize(("size", "advance"), [(10, 0), (10, 11), (0, 0), (10, -1)])
def test_an_advance_of_nothing_or_beyond_the_size_is_refused(size: int, advance: int) -> None:
    with pytest.raises(ValueError, match=r"use 1 to|a size of at least 1 ms"):
        TimeWindows(size, advance)


def test_an_advance_of_one_and_of_the_size_are_accepted() -> None:
    assert TimeWindows(10, 10) == tumbling(10)
    assert len(TimeWindows(10, 1).windows_for(50)) == 10


def test_a_window_accepts_until_it_closes_at_end_plus_grace() -> None:
    windows, window = tumbling(10, grace_ms=5), Window(0, 10)
    assert (windows.accepts(window, 14), windows.is_closed(window, 14)) == (True, False)
    assert (windows.accepts(window, 15), windows.is_closed(window, 15)) == (False, True)
    assert windows.closes_at(window) == 15
    assert windows.closed_until(15) == window.end


def test_the_shortest_retention_is_size_plus_grace() -> None:
    assert tumbling(10, grace_ms=5).retention_ms == 15


def test_a_sliding_window_takes_both_bounds_and_closes_after_end_plus_grace() -> None:
    sliding = SlidingWindows(10, grace_ms=5)
    window = sliding.window_ending(30)
    assert window == Window(20, 30)
    assert [sliding.contains(window, ts) for ts in (19, 20, 30, 31)] == [False, True, True, False]
    assert [sliding.is_closed(window, now) for now in (35, 36)] == [False, True]


def test_join_windows_take_both_bounds_on_both_sides() -> None:
    windows = JoinWindows(before_ms=3, after_ms=5, grace_ms=2)
    assert windows.of_left(100) == Window(97, 105)
    assert windows.of_right(100) == Window(95, 103)
    assert [windows.is_closed(Window(0, 10), now) for now in (12, 13)] == [False, True]
    assert windows.retention_ms == 10
    assert within(4) == JoinWindows(4, 4)


@given(before=st.integers(0, 9), after=st.integers(0, 9), left=st.integers(0, 30), right=st.integers(0, 30))
def test_left_meets_right_iff_right_meets_left(before: int, after: int, left: int, right: int) -> None:
    windows = JoinWindows(before, after)
    a, b = windows.of_left(left), windows.of_right(right)
    assert (a.start <= right <= a.end) == (b.start <= left <= b.end) == (left - before <= right <= left + after)


def test_negative_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="grace of -1"):
        tumbling(10, grace_ms=-1)
    with pytest.raises(ValueError, match="at least 0"):
        SlidingWindows(-1)
    with pytest.raises(ValueError, match="empty"):
        JoinWindows(5, -6)
    with pytest.raises(ValueError, match="at least 0"):
        within(-1)
    assert SlidingWindows(0).window_ending(3) == Window(3, 3)
    assert JoinWindows(5, -5).of_left(10) == Window(5, 5)
    assert within(0).of_left(1) == Window(1, 1)
