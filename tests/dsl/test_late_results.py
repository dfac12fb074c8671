"""A result that becomes due later may be late for a downstream operator. This is reported. Others still receive it."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology
from forebay.processor import Context, LateRecord, Processor
from forebay.time import tumbling, within
from tests.dsl.driving import Driven


class Refuses(Processor[str, str]):
    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward("undone")
        raise LateRecord(7)


def into_a_closed_window(stream: Any) -> None:
    stream.group_by_key().windowed_by(tumbling(10)).count(store="counts")


def into_a_table_with_history(stream: Any) -> None:
    stream.to_table(store="versions", history_retention_ms=5).to_stream().to("versions-out")


def into_a_processor(stream: Any) -> None:
    stream.process(Refuses, str, name="refuses").to("refused")


@pytest.mark.parametrize(
    ("late", "topics"),
    [
        (into_a_closed_window, ["before", "behind"]),
        (into_a_table_with_history, ["before", "behind"]),
        # LateRecord undoes all effects of the result, including those in other branches.
        (into_a_processor, []),
    ],
)
@pytest.mark.parametrize("is_idle", [True, False])
def test_an_unmatched_record_that_is_late_for_one_operator(late: Any, topics: list[str], is_idle: bool) -> None:
    def build(t: Topology) -> None:
        left, right = t.stream("left", str), t.stream("right", str)
        joined = left.left_join(right, lambda one, other: f"{one} {other}", str, windows=within(20), store="join")
        joined.to("before")
        late(joined)
        joined.to("behind")

    driver = Driven(build).driver
    for at in (0, 20):
        driver.pipe("other", "x", "right", at)
        driver.pipe("other", "y", "left", at)
    driver.late.clear()
    driver.errors.clear()
    driver.pipe("a", "alone", "left", 1)
    if is_idle:
        driver.advance_wall_time(1000)
    else:
        driver.pipe("other", "z", "right", 30)
    sent = [(record.topic, record.value) for record in driver.outputs if record.key == "a"]
    assert sent == [(topic, "alone None") for topic in topics]
    assert driver.errors == []
    assert [failure.key for failure in driver.late if failure.key == b"a"] == [b"a"]


class SaysLate(Processor[str, str]):
    wall_clock_interval_ms = 10

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(event)

    def on_wall_clock(self, now: int, ctx: Context[str]) -> None:
        ctx.late(5)


def test_late_record_reported_by_a_timer_is_not_attributed_to_the_next_record() -> None:
    driver = Driven(lambda t: t.stream("in", str).process(SaysLate, str, name="says").to("out")).driver
    driver.pipe("a", "x", "in", 1)
    driver.advance_wall_time(10)
    reported = len(driver.late)
    driver.pipe("b", "y", "in", 2)
    assert reported
    assert len(driver.late) == reported
    assert [record.key for record in driver.outputs] == ["a", "b"]
