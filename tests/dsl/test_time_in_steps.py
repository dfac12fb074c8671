"""A long idle time passes in steps, so that each timed operator receives the previous one's results in time."""

from __future__ import annotations

import pytest

from forebay.builder import Topology
from forebay.operators import Emission, UntilTimeLimit, UntilWindowCloses
from forebay.processor.api import Context, Processor
from forebay.time import SessionWindows, SlidingWindows, tumbling
from tests.dsl.driving import Driven

HOUR = 3_600_000
MINUTE = 60_000


def finals_of_finals(t: Topology) -> None:
    by_key = t.stream("in", str).group_by_key().windowed_by(tumbling(MINUTE), Emission.FINAL).count(store="one")
    regrouped = by_key.to_stream().group_by(lambda key, _: "all", str)
    regrouped.windowed_by(tumbling(5 * MINUTE), Emission.FINAL).count(store="two").to_stream().to("out")


def suppressed_twice(t: Topology) -> None:
    windows = SlidingWindows(MINUTE)
    counts = t.stream("in", str).group_by_key().windowed_by(windows).count(store="one")
    closed = counts.suppress(UntilWindowCloses(windows), store="closing").materialized("closed")
    sums = closed.group_by(lambda key, _: key.key[:1], str).count(store="two")
    sums.suppress(UntilTimeLimit(10 * MINUTE), store="held").to_stream().to("out")


def three_steps(t: Topology) -> None:
    sessions = t.stream("in", str).group_by_key().windowed_by(SessionWindows(MINUTE), Emission.FINAL).count(store="one")
    again = sessions.to_stream().group_by(lambda key, _: key.key, str)
    twice = again.windowed_by(tumbling(MINUTE), Emission.FINAL).count(store="two")
    rest = twice.to_stream().group_by(lambda _key, _: "all", str)
    rest.windowed_by(SessionWindows(MINUTE), Emission.FINAL).count(store="three").to_stream().to("out")


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("build", [finals_of_finals, suppressed_twice, three_steps])
def test_one_time_advance_gives_the_results_of_many_small_ones(build: object, tasks: int) -> None:
    at_once, stepwise = Driven(build, tasks), Driven(build, tasks)  # type: ignore[arg-type]
    for run in (at_once, stepwise):
        assert run.feed("in", ("ka", "x", 1_000), ("kb", "y", 2_000), ("ka", "z", 3_000)) == []
    at_once.idle(HOUR)
    for _ in range(60):
        stepwise.idle(MINUTE)
    assert at_once.by_topic("out") == stepwise.by_topic("out") != []
    assert at_once.idle(HOUR) == []


class Ticking(Processor[str, str]):
    """Forwards its last input every ten minutes."""

    wall_clock_interval_ms = 10 * MINUTE

    def __init__(self) -> None:
        self.last = ""

    def process(self, event: str, ctx: Context[str]) -> None:
        self.last = event

    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        if self.last:
            ctx.forward(self.last, "k")
            self.last = ""


def test_wall_clock_punctuation_on_both_sides_of_a_repartition() -> None:
    def build(t: Topology) -> None:
        one = t.stream("in", str).process(Ticking, str, name="one")
        one.repartition("between").process(Ticking, str, name="two").to("out")

    run = Driven(build)
    assert run.feed("in", ("k", "x", 1)) == []
    assert [value for _, value, _ in run.idle(HOUR)] == ["x"]
