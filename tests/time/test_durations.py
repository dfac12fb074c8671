"""Durations of windows are ms, or a timedelta."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from forebay.time import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, hopping, tumbling, within

TWO: Any = timedelta(seconds=2)
ONE: Any = timedelta(seconds=1)


def test_a_timedelta_is_its_ms() -> None:
    assert tumbling(timedelta(seconds=2), timedelta(seconds=1)) == TimeWindows(2_000, 2_000, 1_000)
    assert hopping(timedelta(seconds=2), timedelta(seconds=1)) == hopping(2_000, 1_000)
    assert within(timedelta(seconds=2), timedelta(seconds=1)) == within(2_000, 1_000)
    assert TimeWindows(TWO, ONE, ONE) == TimeWindows(2_000, 1_000, 1_000)
    assert SlidingWindows(TWO, ONE) == SlidingWindows(2_000, 1_000)
    assert SessionWindows(TWO, ONE) == SessionWindows(2_000, 1_000)
    assert JoinWindows(TWO, ONE, ONE) == JoinWindows(2_000, 1_000, 1_000)


def test_a_part_of_a_ms_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole number of ms"):
        tumbling(timedelta(microseconds=1_500))
