"""Pacing keeps a steady rate by the clock, catches up after a delay, and never pauses without a rate."""

from itertools import count, islice, pairwise

import pytest

from forebay.producing.pacing import bursts


class Clock:
    """Time that passes only by waiting or being moved."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept = 0.0

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        self.slept += seconds


@pytest.mark.parametrize("rate", [0.5, 3, 1000, 20_000])
def test_never_ahead_of_the_rate_and_never_more_than_a_tick_behind(rate: float) -> None:
    clock, given = Clock(), 0
    for burst in islice(bursts(count(), rate, clock.read, clock.sleep, tick_s=0.005), 200):
        given += len(burst)
        elapsed = clock.now - 100
        assert given <= elapsed * rate + 1.001
        assert given >= elapsed * rate - 0.001
        assert len(burst) > 0 or rate < 5


def test_at_a_low_rate_the_taker_is_asked_often() -> None:
    clock, times = Clock(), list[float]()
    for _ in islice(bursts(count(), 0.1, clock.read, clock.sleep), 60):
        times.append(clock.now)
    assert max(later - earlier for earlier, later in pairwise(times)) < 0.21


def test_makes_up_for_a_delay() -> None:
    clock = Clock()
    stream = bursts(count(), 100, clock.read, clock.sleep)
    assert next(stream) == [0]
    clock.now += 1
    assert len(next(stream)) == 100
    assert clock.slept == 0


def test_all_items_in_order_then_the_end() -> None:
    clock = Clock()
    assert [item for burst in bursts(range(25), 10, clock.read, clock.sleep) for item in burst] == list(range(25))


def test_without_a_rate_there_is_no_pause() -> None:
    clock = Clock()
    assert [len(burst) for burst in bursts(range(2500), 0, clock.read, clock.sleep)] == [1000, 1000, 500]
    assert clock.slept == 0
