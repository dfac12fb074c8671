"""Joins of a stream with a stream, a table or a global table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.builder import Topology
from forebay.time import JoinWindows, within
from tests.dsl.driving import Driven


def pair(left: Any, right: Any) -> str:
    return f"{left or '-'}{right or '-'}"


def streams(t: Topology, kind: str, windows: JoinWindows) -> None:
    left, right = t.stream("l", str), t.stream("r", str)
    if kind == "inner":
        expected_join = left.join(right, pair, str, windows=windows, store="j")
    elif kind == "left":
        expected_join = left.left_join(right, pair, str, windows=windows, store="j")
    else:
        expected_join = left.outer_join(right, pair, str, windows=windows, store="j")
    expected_join.to("out")


@pytest.mark.parametrize(
    ("kind", "idle"),
    [("inner", []), ("left", [("b", "3-", 9)]), ("outer", [("c", "-4", 8), ("b", "3-", 9)])],
)
def test_records_in_the_window_are_joined_and_unmatched_ones_emitted_at_close(
    kind: str, idle: list[tuple[str, str, int]]
) -> None:
    run = Driven(lambda t: streams(t, kind, within(10, grace_ms=5)))
    assert run.pipe("l", "a", "1", 0) == []
    assert run.pipe("r", "a", "2", 10) == [("a", "12", 10)]
    run.pipe("l", "b", "3", 9)
    run.pipe("r", "c", "4", 8)
    assert run.pipe("r", "a", "5", 11) == []
    assert run.idle(11) == []
    run.driver.restart()
    assert [sent for ms in (2, 2, 3, 20) for sent in run.idle(ms) if sent[0] in "bc"] == idle


def test_before_and_after_are_settable() -> None:
    run = Driven(lambda t: streams(t, "inner", JoinWindows(before_ms=0, after_ms=5)))
    run.pipe("l", "a", "1", 10)
    assert run.pipe("r", "a", "2", 9) == []
    assert run.pipe("r", "a", "3", 15) == [("a", "13", 15)]


@pytest.mark.parametrize(
    ("windows", "late", "meets"),
    [
        (within(10), 19, True),
        (within(10), 20, False),
        (within(10, grace_ms=5), 24, True),
        (within(10, grace_ms=5), 25, False),
        (JoinWindows(before_ms=0, after_ms=10), 10, True),
        (JoinWindows(before_ms=0, after_ms=10), 11, False),
        (JoinWindows(before_ms=10, after_ms=0), 10, True),
    ],
)
def test_old_record_is_joined_while_its_stream_retains_it(windows: JoinWindows, late: int, meets: bool) -> None:
    run = Driven(lambda t: streams(t, "inner", windows))
    run.pipe("l", "a", "1", 0)
    run.pipe("l", "b", "2", late)
    assert run.pipe("r", "a", "3", 0) == ([("a", "13", 0)] if meets else [])


def test_a_stream_joined_with_itself() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.join(words, pair, str, windows=within(5), store="self").to("out")

    assert Driven(build).feed("in", ("k", "a", 1), ("k", "b", 3)) == [
        ("k", "aa", 1),
        ("k", "ba", 3),
        ("k", "ab", 3),
        ("k", "bb", 3),
    ]


def test_rekeyed_streams_are_joined_in_the_task_of_the_new_key() -> None:
    def build(t: Topology) -> None:
        left = t.stream("l", str).select_key(lambda _, v: v[0], str)
        right = t.stream("r", str).select_key(lambda _, v: v[0], str)
        left.join(right, pair, str, windows=within(100), store="j").to("out")

    run = Driven(build, tasks=4)
    for number, letter in enumerate("abcdefgh"):
        run.pipe("l", f"l{number}", f"{letter}1", number)
    sent = [run.pipe("r", f"r{number}", f"{letter}2", number) for number, letter in enumerate("abcdefgh")]
    assert [item[0][1] for item in sent] == [f"{letter}1{letter}2" for letter in "abcdefgh"]


def test_a_null_key_is_unmatched_in_a_left_join_and_a_null_value_ignored() -> None:
    run = Driven(lambda t: streams(t, "left", within(5)))
    assert run.pipe("l", None, "1", 1) == [(None, "1-", 1)]
    assert run.pipe("l", "k", None, 2) == []


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(st.sampled_from("lr"), st.sampled_from("ab"), st.integers(0, 40)), max_size=20),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(1, 3),
)
def test_an_inner_join_gives_every_pair_within_the_window(
    records: list[tuple[str, str, int]], before: int, after: int, tasks: int
) -> None:
    windows = JoinWindows(before, after, grace_ms=100)
    run = Driven(lambda t: streams(t, "inner", windows), tasks)
    for number, (side, key, ts) in enumerate(records):
        run.pipe(side, key, f"{number}.", ts)
    numbered = list(enumerate(records))
    expected = sorted(
        (key, f"{i}.{j}.", max(ts, other_ts))
        for i, (side, key, ts) in numbered
        for j, (other_side, other_key, other_ts) in numbered
        if (side, other_side) == ("l", "r") and key == other_key and -before <= other_ts - ts <= after
    )
    assert sorted(run.by_topic("out")) == expected


def as_of(t: Topology, **how: Any) -> None:
    prices = t.table("prices", int, store="prices", history_retention_ms=1_000)
    t.stream("orders", str).left_join(prices, lambda order, price: f"{order}@{price}", str, **how).to("out")


def test_a_record_meets_the_row_of_its_own_time() -> None:
    run = Driven(as_of, tasks=2)
    run.feed("prices", ("soup", 1, 0), ("soup", 2, 10), ("soup", None, 20))
    assert run.feed("orders", ("soup", "a", 5), ("soup", "b", 10), ("soup", "c", 25), ("tea", "d", 26)) == [
        ("soup", "a@1", 5),
        ("soup", "b@2", 10),
        ("soup", "c@None", 25),
        ("tea", "d@None", 26),
    ]


def test_grace_period_follows_the_time_of_the_stream_not_of_the_table() -> None:
    run = Driven(lambda t: as_of(t, grace_ms=100, waiting="waiting"))
    run.pipe("prices", "soup", 1, 0)
    run.pipe("orders", "soup", "a", 10)
    assert run.pipe("prices", "soup", 9, 500) == []
    run.pipe("prices", "soup", 2, 5)
    assert run.pipe("orders", "soup", "b", 110) == [("soup", "a@2", 10)]
    assert run.idle(99) == []
    assert run.idle(1) == [("soup", "b@2", 110)]


def test_stream_joins_the_table_of_its_aggregate() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        counts = words.group_by_key().count(store="n")
        words.join(counts.filter(lambda _, n: n > 1), lambda word, n: f"{word}{n}", str).to("out")

    assert Driven(build).feed("in", ("k", "a", 1), ("k", "b", 2)) == [("k", "b2", 2)]


def test_a_rekeyed_stream_joins_a_table_of_another_sub_topology() -> None:
    def build(t: Topology) -> None:
        counts = t.stream("votes", str).group_by(lambda _, dish: dish, str).count(store="n")
        orders = t.stream("orders", str).select_key(lambda _, dish: dish, str)
        orders.left_join(counts, lambda dish, n: f"{dish}{n}", str).to("out")

    run = Driven(build, tasks=3)
    assert len(run.job.topology) == 3
    run.feed("votes", ("anna", "soup", 1), ("bob", "soup", 2))
    assert run.feed("orders", ("1", "soup", 3), ("2", "tea", 4)) == [("soup", "soup2", 3), ("tea", "teaNone", 4)]


def with_global(t: Topology) -> None:
    regions = t.global_table("regions", str, store="regions")
    orders = t.stream("orders", str)
    orders.left_join(regions, lambda order, region: f"{order}:{region}", str, key_of=lambda _, order: order).to("out")
    by_order = orders.select_key(lambda _, order: order, str).repartition("by-order")
    by_order.join(regions, lambda order, region: f"{order}={region}", str, key_of=lambda _, order: order).to("again")


def test_every_task_has_all_of_a_global_table() -> None:
    """If each task read only its own partitions of the table, most rows would not be found."""
    run = Driven(with_global, tasks=3)
    for number in range(12):
        run.pipe("regions", f"r{number}", f"region {number}", 10_000)
    for number in range(12):
        assert run.pipe("orders", f"o{number * 7}", f"r{number}", 1) == [
            (f"o{number * 7}", f"r{number}:region {number}", 1),
            (f"r{number}", f"r{number}=region {number}", 1),
        ]
    assert run.driver.stream_time == 1, "its records do not advance stream time"
    run.driver.restart()
    assert run.pipe("orders", "x", "r3", 2)[0][1] == "r3:region 3"
    run.pipe("regions", "r3", None, 3)
    assert run.pipe("orders", "x", "r3", 2) == [("x", "r3:None", 2)]
