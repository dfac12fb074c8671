"""Durations of windows are ms, or a timedelta."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.operators import UntilTimeLimit
from forebay.stores import SessionStore, TtlKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.time import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, hopping, tumbling, within
from tests.dsl.driving import Driven

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


def test_stores_and_limits_take_a_timedelta() -> None:
    window = WindowStore("w", str, size_ms=ONE, retention_ms=TWO)
    assert (window.size_ms, window.retention_ms) == (1_000, 2_000)
    assert SessionStore("s", str, retention_ms=TWO).retention_ms == 2_000
    assert TtlKeyValueStore("t", str, TWO).ttl_ms == 2_000
    assert VersionedKeyValueStore("v", str, history_retention_ms=TWO).history_retention_ms == 2_000
    assert UntilTimeLimit(TWO) == UntilTimeLimit(2_000)


TAKES_A_DURATION: list[Callable[[Any], object]] = [
    tumbling,
    lambda duration: hopping(1_000, duration),
    within,
    SessionWindows,
    SlidingWindows,
    UntilTimeLimit,
    lambda duration: WindowStore("w", str, size_ms=duration, retention_ms=2_000),
    lambda duration: WindowStore("w", str, size_ms=1, retention_ms=duration),
    lambda duration: SessionStore("s", str, retention_ms=duration),
    lambda duration: TtlKeyValueStore("t", str, duration),
    lambda duration: VersionedKeyValueStore("v", str, history_retention_ms=duration),
]


@pytest.mark.parametrize("take", TAKES_A_DURATION)
@pytest.mark.parametrize("duration", [1.5, "1s", True, None])
def test_another_type_is_refused_with_what_to_write(take: Callable[[Any], object], duration: Any) -> None:
    with pytest.raises(ValueError, match=f"type {type(duration).__name__}: give whole milliseconds, such as"):
        take(duration)


def outputs_with(second: Any) -> list[Any]:
    """Return what a topology sends whose durations are all one second."""

    def build(t: Topology) -> None:
        words = t.stream("words", str)
        words.deduplicate(lambda _, word: word, store="ids", ttl_ms=second).to("once")
        table = t.table("rows", str, store="rows", history_retention_ms=second)
        words.join(table, lambda word, row: word + row, str, grace_ms=second, waiting="waiting").to("joined")
        counts = words.group_by_key().windowed_by(tumbling(second)).count(store="counts", retention_ms=2 * second)
        counts.to_stream().map_values(lambda _, n: str(n), str).to("counts-out")

    driven = Driven(build)
    driven.pipe("rows", "k", "!", 0)
    sent: list[Any] = [driven.pipe("words", "k", "a", at) for at in (5, 6, 1_004, 1_006, 2_010)]
    sent.append(driven.driver.advance_wall_time(second))
    return sent


def test_a_topology_does_the_same_with_a_timedelta() -> None:
    sent = outputs_with(timedelta(seconds=1))
    assert sent == outputs_with(1_000)
    assert all(sent)
