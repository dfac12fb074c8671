"""Durations of windows are given in ms or as a timedelta."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.formats import TEXT
from forebay.job import Job, TopicFormat
from forebay.operators import Emission, UntilTimeLimit
from forebay.processor import Context, Processor
from forebay.processor.api import IdleClose
from forebay.stores import SessionStore, TtlKeyValueStore, VersionedKeyValueStore, WindowStore
from forebay.testing import TestDriver
from forebay.time import (
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    hopping,
    tumbling,
    within,
)
from tests.dsl.driving import Driven, Nothing

TWO: Any = timedelta(seconds=2)
ONE: Any = timedelta(seconds=1)
TEXTS = {topic: TopicFormat(value=TEXT) for topic in ("words", "out")}
POINTS_IN_TIME = {"start_ms", "late_by_ms"}


def test_a_timedelta_is_its_ms() -> None:
    assert tumbling(timedelta(seconds=2), timedelta(seconds=1)) == TimeWindows(2_000, 2_000, 1_000)
    assert hopping(timedelta(seconds=2), timedelta(seconds=1)) == hopping(2_000, 1_000)
    assert within(timedelta(seconds=2), timedelta(seconds=1)) == within(2_000, 1_000)
    assert TimeWindows(TWO, ONE, ONE) == TimeWindows(2_000, 1_000, 1_000)
    assert SlidingWindows(TWO, ONE) == SlidingWindows(2_000, 1_000)
    assert SessionWindows(TWO, ONE) == SessionWindows(2_000, 1_000)
    assert JoinWindows(TWO, ONE, ONE) == JoinWindows(2_000, 1_000, 1_000)


def test_a_part_of_a_ms_is_refused() -> None:
    with pytest.raises(ValueError, match="not a whole number of ms"):
        tumbling(timedelta(microseconds=1_500))


def test_stores_and_limits_take_a_timedelta() -> None:
    window = WindowStore("w", str, size_ms=ONE, retention_ms=TWO)
    assert (window.size_ms, window.retention_ms) == (1_000, 2_000)
    assert SessionStore("s", str, retention_ms=TWO).retention_ms == 2_000
    assert TtlKeyValueStore("t", str, TWO).ttl_ms == 2_000
    assert VersionedKeyValueStore("v", str, history_retention_ms=TWO).history_retention_ms == 2_000
    assert UntilTimeLimit(TWO) == UntilTimeLimit(2_000)


class Ticks(Processor[str, str]):
    """Forwards a record at each interval."""

    wall_clock_interval_ms = TWO

    def timestamp(self, event: str) -> int:
        return 0

    def process(self, event: str, ctx: Context[str]) -> None:
        return

    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        ctx.forward("tick", "k")


def ticking(topology: Topology) -> None:
    topology.stream("words", str).process(Ticks, str, name="ticks").to("out")


def test_wall_clock_punctuation_takes_a_timedelta() -> None:
    driven = Driven(ticking)
    driven.pipe("words", "k", "a", 0)
    assert driven.idle(1_999) == []
    assert [value for _, value, _ in driven.idle(1)] == ["tick"]


def test_a_processor_of_a_job_takes_a_timedelta() -> None:
    driver = TestDriver(Job({"words": str}, {"out": str}, Nothing, lambda _: Ticks(), formats=TEXTS))
    driver.pipe("k", "a", "words", 0)
    assert [output.value for output in driver.advance_wall_time(TWO)] == ["tick"]


def passing() -> Topology:
    topology = Topology()
    topology.stream("words", str, event_id=str).to("out")
    return topology


def test_the_test_driver_s_options_take_a_timedelta() -> None:
    driver = TestDriver(passing(), dedupe_retention_ms=ONE, max_future_ms=TWO, clock=10_000)
    for at in (0, 1_000, 5_000, 12_000, 12_001):
        driver.pipe("k", "a", "words", at)
    assert [output.timestamp for output in driver.outputs] == [0, 5_000, 12_000]
    assert len(driver.errors) == 1


def test_a_topology_closes_after_an_idle_timedelta() -> None:
    for idle in (ONE, 1_000):
        topology = Topology(close_idle_after_ms=idle)
        counts = topology.stream("words", str).group_by_key().windowed_by(tumbling(60_000), Emission.FINAL)
        counts.count(store="counts").to_stream().map_values(lambda _, n: str(n), str).to("out")
        driver = TestDriver(topology)
        driver.pipe("k", "a", "words", 0)
        assert driver.advance_wall_time(999) == []
        assert [output.value for output in driver.advance_wall_time(1)] == ["1"]


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
    lambda duration: UnlimitedWindows(0, duration),
    lambda duration: JoinWindows(1, duration),
    lambda duration: IdleClose(duration, 1),
    lambda duration: IdleClose(1, duration),
    Topology,
    lambda duration: TestDriver(passing(), dedupe_retention_ms=duration),
    lambda duration: TestDriver(passing(), max_future_ms=duration),
]


@pytest.mark.parametrize("take", TAKES_A_DURATION)
@pytest.mark.parametrize("duration", [1.5, "1s", True, None])
def test_another_type_is_refused_with_what_to_write(take: Callable[[Any], object], duration: Any) -> None:
    with pytest.raises(ValueError, match=f"type {type(duration).__name__}: give whole milliseconds, such as"):
        take(duration)


def outputs_with(second: Any) -> list[Any]:
    """Return the outputs of a topology whose durations are all one second."""

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


def durations_of(module_name: str) -> list[inspect.Parameter]:
    """Return the parameters of a module's public names that end with `_ms`."""
    module = importlib.import_module(module_name)
    public = [getattr(module, name) for name in module.__all__]
    signatures = [inspect.signature(make) for make in public if inspect.isfunction(make) or _is_made_by_users(make)]
    return [p for signature in signatures for p in signature.parameters.values() if p.name.endswith("_ms")]


def _is_made_by_users(kind: object) -> bool:
    return inspect.isclass(kind) and not issubclass(kind, (tuple, Exception)) and kind.__init__ is not object.__init__


@pytest.mark.parametrize("module", ["forebay.time", "forebay.stores", "forebay.operators", "forebay.builder"])
def test_every_public_parameter_that_is_a_duration_says_so(module: str) -> None:
    parameters = durations_of(module)
    assert parameters
    wrong = [p for p in parameters if "Duration" not in str(p.annotation) and p.name not in POINTS_IN_TIME]
    assert not wrong
