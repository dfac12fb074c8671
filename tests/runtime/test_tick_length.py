"""Ticks are no longer than the processor's idle timeout."""

from __future__ import annotations

import pytest

from forebay.processor import IdleClose
from forebay.runtime.planner import Limits, limits_for


@pytest.mark.parametrize(
    ("tick_ms", "after_ms", "used_ms"),
    [(15_000, 2_000, 2_000), (15_000, 10, 500), (15_000, 30_000, 15_000), (15_000, 0, 15_000), (0, 2_000, 0)],
)
def test_a_tick_is_due_when_the_idle_timeout_is_over(tick_ms: int, after_ms: int, used_ms: int) -> None:
    assert limits_for(Limits(tick_ms=tick_ms), IdleClose(after_ms, 60_000)).tick_ms == used_ms


def test_without_an_idle_timeout_ticks_are_as_configured() -> None:
    assert limits_for(Limits(tick_ms=15_000), None) == Limits(tick_ms=15_000)
