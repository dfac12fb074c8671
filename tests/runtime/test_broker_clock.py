"""A worker uses the broker's time, because its own clock may be hours off or be set while it runs."""

from __future__ import annotations

import logging
import time

import pytest

from forebay.processor import Context
from forebay.processor.codecs import Codecs
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures
from forebay.runtime.worker.broker_clock import BrokerClock
from forebay.testing import TestDriver
from tests.runtime.group_bench import GroupBench
from tests.runtime.task_records import CODECS, Number, Sum, Total

HOUR = 3_600_000
NOW = 1_800_000_000_000


class World:
    """The broker's time, and a worker's clock that is off by `off_ms`."""

    def __init__(self, off_ms: int = 0) -> None:
        self.off_ms, self.passed_ms, self.is_known = off_ms, 0, True
        self.asked = 0
        self.clock = BrokerClock(self.ask, lambda: self.now + self.off_ms, lambda: 50.0 + self.passed_ms / 1_000)

    @property
    def now(self) -> int:
        return NOW + self.passed_ms

    def ask(self) -> int:
        self.asked += 1
        return self.now if self.is_known else -1

    @property
    def error_ms(self) -> int:
        """The difference between the worker's time and the broker's."""
        return abs(self.clock.now_ms() - self.now)


@pytest.mark.parametrize("off_ms", [-25 * HOUR, -2 * HOUR, -61_000, 61_000, 2 * HOUR, 25 * HOUR])
def test_a_clock_that_is_off_is_replaced_and_warned_of(off_ms: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    world = World(off_ms)
    world.clock.look()
    assert world.error_ms < 2
    world.passed_ms += 10 * HOUR
    assert world.error_ms < 2
    (message,) = caplog.messages
    assert f"{abs(off_ms) / 1_000:.0f} s {'ahead of' if off_ms > 0 else 'behind'} the broker's" in message
    world.clock.look()
    assert len(caplog.messages) == 1


def test_the_time_of_a_suspended_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    boot, suspended = time.clock_gettime, 0.0
    # While a machine is suspended, only the clock that counts from its boot advances.
    counts = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: boot(clock) + (suspended if clock == counts else 0.0))
    clock = BrokerClock(lambda: NOW)
    clock.look()
    suspended = 2 * HOUR / 1_000
    assert clock.now_ms() == pytest.approx(NOW + 2 * HOUR, abs=5_000)


def test_a_clock_that_is_right_is_taken_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    world = World(off_ms=3_000)
    world.clock.look()
    assert world.clock.now_ms() == world.now + 3_000
    assert not caplog.messages


def test_a_jump_of_the_workers_clock_changes_nothing() -> None:
    world = World()
    world.clock.look()
    for off_ms in (25 * HOUR, -25 * HOUR, 0):
        world.off_ms = off_ms
        world.passed_ms += 1_000
        assert world.error_ms < 2
        world.clock.look()
        assert world.error_ms < 2


def test_it_asks_once_a_minute() -> None:
    world = World()
    for _ in range(100):
        world.clock.look()
        world.passed_ms += 1_000
    assert world.asked == 2


def test_a_worker_uses_its_local_clock_until_the_broker_s_time_is_known() -> None:
    world = World(off_ms=2 * HOUR)
    world.is_known = False
    world.clock.look()
    assert world.error_ms == 2 * HOUR
    world.is_known = True
    world.passed_ms += 61_000
    world.clock.look()
    assert world.error_ms < 2
    world.is_known = False
    world.passed_ms += 61_000
    world.clock.look()
    assert world.error_ms < 2, "what was known runs on"


class Punctuates(Sum):
    wall_clock_interval_ms = 1_000
    calls = 0

    def on_wall_clock(self, now: int, ctx: Context[Total]) -> None:
        Punctuates.calls += 1


@pytest.mark.parametrize("jump_ms", [25 * HOUR, -25 * HOUR])
def test_punctuation_uses_a_monotonic_clock(jump_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Punctuates, "calls", 0)
    bench = GroupBench(Punctuates, max_future_ms=1 << 50)
    wall = bench.wall_clock
    jump = 0
    bench.wall_clock = lambda: wall() + jump  # type: ignore[method-assign]
    bench.group._turns._clock = bench.wall_clock
    bench.feed(("a", 1, 1))
    bench.run()
    for number in range(1, 11):
        jump = jump_ms if number == 5 else 0
        bench.wait(1.0)
        bench.run()
        assert Punctuates.calls >= number, "it is silent"
        assert Punctuates.calls <= 2 * number + 1


def test_reports_of_a_worker_whose_clock_is_behind_are_not_ignored() -> None:
    metrics = JobMetrics("svc")
    assert metrics.observe([TaskFigures(0, 0, opened=NOW, at=NOW, worker=1)])
    behind = NOW - 2 * HOUR
    assert metrics.observe([TaskFigures(0, 0, opened=behind, at=behind + 1, worker=2)])
    assert not metrics.observe([TaskFigures(0, 0, opened=behind, at=behind + 1, worker=2)])


def test_the_limit_for_future_timestamps_uses_the_clock_of_the_group() -> None:
    codecs: Codecs = CODECS
    sums = TestDriver(Sum(), codecs, service="sums", clock=NOW)
    assert sums.pipe("a", Number("e1", NOW + HOUR, 1))
    assert not sums.pipe("a", Number("e2", NOW + HOUR + 1, 1))
    assert "beyond the allowed future" in sums.errors[0].headers["error.message"]
