"""Results of a foreign-key join have the timestamps of Kafka Streams, unless a change of the right row causes them."""

from __future__ import annotations

from typing import Any

import pytest

from forebay import TestDriver, Topology

Sent = tuple[str, str, str | None, int]

LEFT, RIGHT = "left", "right"


def run(kind: str, *sent: Sent) -> list[tuple[Any, int]]:
    """Join rows whose values begin with the key of a right row. Return the results with their timestamps."""
    topology = Topology()
    left, right = topology.table(LEFT, str, store="l"), topology.table(RIGHT, str, store="r")
    join = left.join_by_foreign_key if kind == "inner" else left.left_join_by_foreign_key
    joined = join(
        right,
        lambda _, value: None if value.startswith("-") else value[:1],
        lambda one, other: f"{one} {other}",
        str,
        store="j",
    )
    joined.to_stream().to("out")
    driver = TestDriver(topology)
    for topic, key, value, timestamp in sent:
        driver.pipe(key, value, topic, timestamp)
    return [(output.value, output.timestamp) for output in driver.outputs]


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_change_of_the_left_row_gets_the_later_timestamp_of_both_sides(kind: str) -> None:
    sent = [(RIGHT, "a", "1", 50), (LEFT, "k", "a", 20), (LEFT, "k", "ab", 60)]
    assert run(kind, *sent) == [("a 1", 50), ("ab 1", 60)]


@pytest.mark.parametrize(("kind", "deleted"), [("inner", None), ("left", "a None")])
def test_change_of_the_right_row_gets_the_later_timestamp_of_both_sides(kind: str, deleted: str | None) -> None:
    sent = [(RIGHT, "a", "1", 5), (LEFT, "k", "a", 50), (RIGHT, "a", "2", 20), (RIGHT, "a", "3", 60)]
    assert run(kind, *sent, (RIGHT, "a", None, 10)) == [("a 1", 50), ("a 2", 50), ("a 3", 60), (deleted, 50)]


@pytest.mark.parametrize(("kind", "timestamp"), [("inner", 50), ("left", 30)])
@pytest.mark.parametrize("value", [None, "-"])
def test_row_that_no_longer_joins_gets_the_expected_timestamp(kind: str, timestamp: int, value: str | None) -> None:
    result = "- None" if value and kind == "left" else None
    sent = [(RIGHT, "a", "1", 50), (LEFT, "k", "a", 20), (LEFT, "k", value, 30)]
    assert run(kind, *sent) == [("a 1", 50), (result, timestamp)]


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_a_row_that_moves_between_two_rows_has_no_result_in_between(kind: str) -> None:
    sent = [(RIGHT, "a", "1", 50), (RIGHT, "b", "2", 10), (LEFT, "k", "a", 20), (LEFT, "k", "b", 30)]
    assert run(kind, *sent) == [("a 1", 50), ("b 2", 30)]
