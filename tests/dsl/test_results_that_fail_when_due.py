"""If a result fails when it becomes due, this is reported once and affects no other result and no later record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forebay.builder import Stream, Table, Topology
from forebay.operators import Emission
from forebay.operators.folds import Fold
from forebay.processor import Context, Processor
from forebay.time import JoinWindows, SessionWindows, SlidingWindows, hopping, tumbling
from tests.dsl.driving import Driven

Build = Callable[[Topology], None]


def name_of(key: Any) -> str:
    return str(getattr(key, "key", key))


def fail_for_bad(key: Any, value: Any) -> str:
    if name_of(key) == "bad":
        raise ValueError("bad result")
    return str(value)


def fail_for_bad_value(one: str | None, other: str | None) -> str:
    if "bad" in (one, other):
        raise ValueError("bad result")
    return f"{one}+{other}"


def passing(t: Topology) -> Stream[str, str]:
    """Return the input. Its records and those of another topic, which reaches no operator, are sent to `passed`."""
    records = t.stream("in", str)
    t.stream("other", str).merge(records).to("passed")
    return records


def finals(windows: Any, emission: Emission = Emission.FINAL) -> Build:
    def build(t: Topology) -> None:
        records = passing(t)
        fold: Fold[str, int] = Fold(
            lambda: 0, lambda _key, _value, count: count + 1, merge=lambda _key, one, other: one + other
        )
        by_window = records.group_by_key().windowed_by(windows, emission)
        table: Table[Any, int] = by_window.aggregate(fold, int, store="counts")
        table.to_stream().filter(lambda _key, _value: emission is Emission.FINAL).map_values(fail_for_bad, str).to(
            "out"
        )

    return build


def fail_for_unmatched(join: str) -> Build:
    def build(t: Topology) -> None:
        one, other = passing(t), t.stream("right", str)
        getattr(one, join)(other, fail_for_bad_value, str, windows=JoinWindows(100, 100, 0), store="pairs").to("out")

    return build


def unmatched_right(t: Topology) -> None:
    right, left = passing(t), t.stream("left", str)
    left.outer_join(right, fail_for_bad_value, str, windows=JoinWindows(100, 100, 0), store="pairs").to("out")


def after_a_grace(t: Topology) -> None:
    records, prices = passing(t), t.table("prices", str, store="prices", history_retention_ms=10_000)
    records.left_join(prices, fail_for_bad_value, str, grace_ms=100, waiting="waiting").to("out")


OPERATORS = {
    "tumbling": finals(tumbling(1_000)),
    "hopping": finals(hopping(1_000, 500)),
    "sliding": finals(SlidingWindows(1_000, grace_ms=0)),
    "sessions": finals(SessionWindows(500, grace_ms=0)),
    "left join": fail_for_unmatched("left_join"),
    "outer join": fail_for_unmatched("outer_join"),
    "outer join, right": unmatched_right,
    "join after a grace": after_a_grace,
}


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("topic", ["in", "other", None])
@pytest.mark.parametrize("operator", OPERATORS)
def test_failing_result_does_not_affect_other_results(operator: str, topic: str | None, is_restarted: bool) -> None:
    """A result becomes due through a record that reaches the operator, through one that does not, or in idle time."""
    driver = Driven(OPERATORS[operator]).driver
    for name in ("a", "bad", "c"):
        driver.pipe(name, name, "in", 0)
    later = () if topic is None else (3_000, 3_001, 3_002)
    for at in later:
        if is_restarted:
            driver.restart()
        driver.pipe("later", "later", topic, at)
    driver.advance_wall_time(600_000)
    out = [name_of(sent.key) for sent in driver.outputs if sent.topic == "out"]
    assert sorted({*out} - {"later"}) == ["a", "c"]
    assert out.count("a") == out.count("c")
    assert [sent.timestamp for sent in driver.outputs if sent.topic == "passed"] == [0, 0, 0, *later]
    assert {error.key for error in driver.errors} == {b"bad"}
    assert len(driver.errors) == out.count("a")
    assert all(error.value is None and error.headers["error.message"] == "bad result" for error in driver.errors)


class Failing(Processor[str, str]):
    wall_clock_interval_ms = 20

    def process(self, event: str, ctx: Context[str]) -> None:
        pass

    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        raise ValueError("bad punctuation")


class Ticking(Failing):
    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        ctx.forward("tick", key="clock")


def test_failing_punctuation_does_not_prevent_others() -> None:
    def build(t: Topology) -> None:
        records = t.stream("in", str)
        records.process(Failing, str, name="failing").to("out")
        records.process(Ticking, str, name="ticking").to("out")

    driver = Driven(build, clock=1_000).driver
    driver.pipe("a", "a", "in", 0)
    for _ in range(4):
        driver.advance_wall_time(10)
    assert [sent.value for sent in driver.outputs] == ["tick", "tick"]
    assert [error.headers["error.message"] for error in driver.errors] == ["bad punctuation"] * 2
