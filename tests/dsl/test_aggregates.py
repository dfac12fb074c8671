"""Aggregates: by key, by every type of window, by session, of several streams (cogroup), and with every emission."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.builder import Topology, Windowed
from forebay.operators import Emission, Fold
from forebay.time import SessionWindows, SlidingWindows, UnlimitedWindows, Window, hopping, tumbling
from tests.dsl.driving import Driven

JOIN: Fold[str, str] = Fold(
    lambda: "0", lambda _, v, a: f"{a}+{v}", lambda _, v, a: f"{a}-{v}", lambda _, a, b: f"{a}&{b}"
)
INTO_LENGTH: Fold[int, str] = Fold(lambda: "unused", lambda _, v, a: f"{a}*{v}")


def at(key: Any, start: int, end: int) -> Windowed[Any]:
    return Windowed(key, Window(start, end))


def test_count_reduce_aggregate_give_tables() -> None:
    def build(t: Topology) -> None:
        grouped = t.stream("in", str).group_by_key()
        grouped.count(store="n").to_stream().to("counts")
        grouped.reduce(lambda a, b: a + b, store="texts").to_stream().to("texts")
        grouped.aggregate(JOIN, str, store="sums").filter(lambda _, v: len(v) < 5).to_stream().to("short")

    run = Driven(build)
    run.feed("in", ("a", "x", 5), ("a", "y", 3), ("a", None, 9))
    assert run.by_topic("counts") == [("a", 1, 5), ("a", 2, 5)]
    assert run.by_topic("texts") == [("a", "x", 5), ("a", "xy", 5)]
    assert run.by_topic("short") == [("a", "0+x", 5), ("a", None, 5)], (
        "a row that the filter no longer passes is deleted"
    )


@pytest.mark.parametrize(
    ("emit", "sent"),
    [
        (Emission.UPDATES, [(0, "0+a", 1), (0, "0+a+b", 9), (10, "0+c", 12)]),
        (Emission.FINAL, [(0, "0+a+b", 9)]),
        (Emission.BOTH, [(0, "0+a", 1), (0, "0+a+b", 9), (0, "0+a+b", 9), (10, "0+c", 12)]),
    ],
)
def test_tumbling_windows_emit_updates_finals_or_both(emit: Emission, sent: list[tuple[int, str, int]]) -> None:
    def build(t: Topology) -> None:
        windows = t.stream("in", str).group_by_key().windowed_by(tumbling(10), emit)
        windows.aggregate(JOIN, str, store="w").to_stream().to("out")

    records = [("k", "a", 1), ("k", "b", 9), ("k", "c", 12)]
    expected = [(at("k", start, start + 10), value, ts) for start, value, ts in sent]
    assert Driven(build).feed("in", *records) == expected


def test_hopping_windows_overlap() -> None:
    def build(t: Topology) -> None:
        t.stream("in", str).group_by_key().windowed_by(hopping(10, 5)).count(store="w").to_stream().to("out")

    assert Driven(build).feed("in", ("k", "a", 7)) == [(at("k", 0, 10), 1, 7), (at("k", 5, 15), 1, 7)]


def test_an_unlimited_window_never_closes() -> None:
    def build(t: Topology) -> None:
        windows = t.stream("in", str).group_by_key().windowed_by(UnlimitedWindows(start_ms=10))
        windows.count(store="w").to_stream().to("out")

    sent = Driven(build).feed("in", ("k", "a", 9), ("k", "a", 10), ("k", "a", 1 << 40), ("k", "a", 12))
    assert [(key.window.start, value) for key, value, _ in sent] == [(10, 1), (10, 2), (10, 3)]


def test_sliding_windows_match_kafka_streams() -> None:
    def build(t: Topology) -> None:
        windows = t.stream("in", str).group_by_key().windowed_by(SlidingWindows(10, 5))
        windows.aggregate(JOIN, str, store="w").to_stream().to("out")

    sent = Driven(build).feed("in", ("A", "1", 10), ("A", "2", 10), ("A", "3", 14), ("A", "4", 15))
    assert [(key.window.start, value, ts) for key, value, ts in sent] == [
        (0, "0+1", 10),
        (0, "0+1+2", 10),
        (4, "0+1+2+3", 14),
        (11, "0+3", 14),
        (5, "0+1+2+3+4", 15),
        (11, "0+3+4", 15),
        (15, "0+4", 15),
    ]


def test_merged_sessions_are_retracted() -> None:
    def build(t: Topology) -> None:
        sessions = t.stream("in", str).group_by_key().windowed_by(SessionWindows(5, 100))
        sessions.aggregate(JOIN, str, store="s").to_stream().to("out")

    assert Driven(build).feed("in", ("k", "a", 10), ("k", "b", 18), ("k", "c", 14)) == [
        (at("k", 10, 10), "0+a", 10),
        (at("k", 18, 18), "0+b", 18),
        (at("k", 10, 10), None, 10),
        (at("k", 18, 18), None, 18),
        (at("k", 10, 18), "0&0+a&0+b+c", 18),
    ]


def test_final_session_does_not_merge_with_later_records() -> None:
    def build(t: Topology) -> None:
        sessions = t.stream("in", str).group_by_key().windowed_by(SessionWindows(5), Emission.FINAL)
        sessions.count(store="s", retention_ms=1_000).to_stream().to("out")

    run = Driven(build)
    run.feed("in", ("k", "a", 10), ("other", "b", 16), ("k", "c", 14), ("other", "d", 100))
    sessions = [(key.key, *key.window, value) for key, value, _ in run.by_topic("out")]
    assert sessions == [("k", 10, 10, 1), ("k", 14, 14, 1), ("other", 16, 16, 1)]


@pytest.mark.parametrize("windows", [tumbling(10), hopping(10, 5), SlidingWindows(10), SessionWindows(10)])
def test_final_results_are_emitted_at_close_and_records_in_order_are_never_late(windows: Any) -> None:
    def build(t: Topology) -> None:
        grouped = t.stream("in", str).group_by_key()
        grouped.windowed_by(windows, Emission.FINAL).count(store="w").to_stream().to("out")

    run = Driven(build)
    run.pipe("in", "k", "a", 1_000)
    run.idle(9)
    run.driver.restart()
    run.pipe("in", "k", "a", 1_009)
    assert run.driver.late == []
    run.idle(1_000)
    assert sorted(value for _, value, _ in run.by_topic("out"))[-1] == 2
    assert len({key for key, _, _ in run.by_topic("out")}) == len(run.by_topic("out")), "once each"


def test_late_record_is_reported_once_and_still_processed_by_other_operators() -> None:
    def build(t: Topology) -> None:
        grouped = t.stream("in", str).group_by_key()
        grouped.windowed_by(tumbling(10)).count(store="w").to_stream().to("windows")
        grouped.count(store="n").to_stream().to("counts")

    run = Driven(build)
    run.feed("in", ("k", "a", 100), ("k", "b", 5))
    assert [late.headers["late.by_ms"] for late in run.driver.late] == ["90"]
    assert run.by_topic("counts")[-1] == ("k", 2, 100)


def test_several_streams_into_one_aggregate() -> None:
    def build(t: Topology) -> None:
        words, numbers = t.stream("words", str).group_by_key(), t.stream("numbers", int).group_by_key()
        both = words.cogroup(JOIN).cogroup(numbers, INTO_LENGTH)
        both.aggregate(str, store="all").to_stream().to("out")
        both.windowed_by(tumbling(10)).aggregate(str, store="windows").to_stream().to("windows")

    run = Driven(build, tasks=2)
    run.pipe("numbers", "k", 3, 1)
    run.pipe("words", "k", "a", 2)
    run.pipe("numbers", "k", 4, 15)
    assert [value for _, value, _ in run.by_topic("out")] == ["0*3", "0*3+a", "0*3+a*4"]
    assert [(key.window.start, value) for key, value, _ in run.by_topic("windows")] == [
        (0, "0*3"),
        (0, "0*3+a"),
        (10, "0*4"),
    ]


def test_a_windowed_table_is_grouped_with_undo() -> None:
    def build(t: Topology) -> None:
        counts = t.stream("in", str).group_by_key().windowed_by(tumbling(10)).count(store="w")
        by_start = counts.group_by(lambda key, _: key.window.start, int)
        by_start.aggregate(
            Fold(lambda: 0, lambda _, v, a: a + v, lambda _, v, a: a - v), int, store="sums"
        ).to_stream().to("out")

    run = Driven(build, tasks=3)
    run.feed("in", ("a", "x", 1), ("b", "x", 2), ("a", "x", 3), ("a", "x", 11))
    assert run.by_topic("out") == [(0, 1, 1), (0, 2, 2), (0, 3, 3), (10, 1, 11)]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"), st.integers(0, 60)), max_size=25),
    st.integers(1, 4),
)
def test_counts_are_right_at_any_number_of_tasks(records: list[tuple[str, str, int]], tasks: int) -> None:
    def build(t: Topology) -> None:
        by_value = t.stream("in", str).group_by(lambda _, v: v, str)
        by_value.count(store="n").to_stream().to("out")

    run = Driven(build, tasks)
    for key, value, ts in records:
        run.pipe("in", key, value, ts)
    last = {key: value for key, value, _ in run.by_topic("out")}
    values = [value for _, value, _ in records]
    assert last == {value: values.count(value) for value in set(values)}
