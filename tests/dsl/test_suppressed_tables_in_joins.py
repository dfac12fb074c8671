"""The rows of a suppressed table can be looked up by a join, as in Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.operators import UntilTimeLimit, UntilWindowCloses
from forebay.testing import TestDriver
from forebay.time.windows import tumbling

WINDOW = tumbling(10)


def held_back(topology: Topology, topic: str) -> Any:
    return topology.table(topic, str, store=topic).suppress(UntilTimeLimit(5), store="held")


def final_counts(topology: Topology, topic: str) -> Any:
    counts = topology.stream(topic, str).group_by_key().windowed_by(WINDOW).count(store=topic)
    return counts.suppress(UntilWindowCloses(WINDOW), store="held")


def count(topology: Topology, topic: str) -> Any:
    return topology.stream(topic, str).group_by_key().windowed_by(WINDOW).count(store=topic)


def pair(left: object, right: object) -> str:
    return f"{left}/{right}"


JOINS: dict[str, Callable[[Topology], Any]] = {
    "a stream": lambda t: t.stream("l", str).left_join(held_back(t, "r"), pair, str),
    "a stream, with mapped rows": lambda t: t.stream("l", str).left_join(
        held_back(t, "r").map_values(lambda _, row: row, str), pair, str
    ),
    "a table": lambda t: t.table("l", str, store="l").outer_join(held_back(t, "r"), pair, str).to_stream(),
    "on the left": lambda t: (
        held_back(t, "r")
        .outer_join(t.table("l", str, store="l"), lambda right, left: f"{left}/{right}", str)
        .to_stream()
    ),
    "a foreign key": lambda t: (
        t.table("l", str, store="l")
        .left_join_by_foreign_key(held_back(t, "r"), lambda _, row: row, pair, str, store="j")
        .to_stream()
    ),
}


@pytest.mark.parametrize("case", JOINS)
def test_a_join_sees_a_row_once_it_was_emitted(case: str) -> None:
    topology = Topology()
    JOINS[case](topology).to("o")
    driver = TestDriver(topology)
    driver.pipe("k", "r1", "r", 1)
    driver.pipe("k", "k", "l", 2)
    assert [output.value for output in driver.outputs] == ["k/None"]
    driver.pipe("other", "r2", "r", 9)
    driver.pipe("k", "k", "l", 10)
    assert driver.outputs[-1].value == "k/r1"
    assert not driver.errors


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_windows_that_have_closed_are_joined(*, swapped: bool, mapped: bool) -> None:
    topology = Topology()
    left, right = final_counts(topology, "l"), count(topology, "r")
    left = left.map_values(lambda _, count: count, int) if mapped else left
    if swapped:
        joined = right.outer_join(left, lambda count, final: pair(final, count), str)
    else:
        joined = left.outer_join(right, pair, str)
    joined.to_stream().to("o")
    driver = TestDriver(topology)
    for topic, time in (("l", 1), ("r", 2), ("l", 30), ("r", 60)):
        driver.pipe("k", "x", topic, time)
    values = [(output.key.window.start, output.value) for output in driver.outputs]
    assert values == [(0, "None/1"), (0, "1/1"), (60, "None/1"), (30, "1/None")]
    assert not driver.errors


def test_two_joins_share_the_stored_rows() -> None:
    topology = Topology()
    rows = held_back(topology, "r")
    for name in ("a", "b"):
        topology.stream(name, str).left_join(rows, pair, str).to("o")
    stores = [store.name for node in topology.graph.nodes for store in node.stores]
    assert sorted(stores) == ["held", "held-rows", "r"]
