"""If a join's inputs are not co-partitioned, one of them is repartitioned, as in Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.operators import Fold
from forebay.time import tumbling, within
from tests.dsl.driving import Driven

TASKS = pytest.mark.parametrize("tasks", [1, 3])


def pair(one: Any, other: Any) -> str:
    return f"{one}+{other}"


def names(run: Driven) -> list[str]:
    return [part.name for part in run.job.topology]


def by_value(stream: Any) -> Any:
    return stream.select_key(lambda _, value: value, str)


@TASKS
def test_a_rekeyed_stream_joins_a_table_of_its_own_sub_topology(tasks: int) -> None:
    def build(t: Topology) -> None:
        rows = t.table("rows", str, store="rows")
        by_value(t.stream("in", str)).left_join(rows, pair, str).to("out")
        by_value(rows.to_stream()).left_join(rows, pair, str).to("own")

    run = Driven(build, tasks=tasks)
    run.feed("rows", ("a", "one", 1), ("b", "a", 2), ("c", "b", 3), ("a", None, 4))
    assert run.by_topic("own") == [("one", "one+None", 1), ("a", "a+one", 2), ("b", "b+a", 3)]
    assert run.pipe("in", "k", "c", 5) == [("c", "c+b", 5)]
    assert run.pipe("in", "k", "a", 6) == [("a", "a+None", 6)]
    assert names(run) == ["", "rows-joined", "rows-along"]


@TASKS
def test_the_copy_of_a_versioned_table_has_its_history(tasks: int) -> None:
    def build(t: Topology) -> None:
        prices = t.table("prices", int, store="prices", history_retention_ms=100)
        prices.to_stream().to("changes")
        orders = t.stream("orders", str)
        orders.left_join(prices, pair, str).to("by-order")
        by_value(orders).join(prices, pair, str, grace_ms=10, waiting="waiting").to("out")

    run = Driven(build, tasks=tasks)
    run.feed("prices", ("tea", 2, 10), ("tea", 4, 30), ("tea", 3, 20))
    assert names(run) == ["", "prices-along"]
    assert run.by_topic("changes") == [("tea", 2, 10), ("tea", 4, 30)]
    run.feed("orders", ("o", "tea", 25), ("o", "tea", 40))
    assert run.by_topic("out") == [("tea", "tea+3", 25)]


@TASKS
def test_record_joins_a_row_of_the_same_millisecond_after_a_repartition(tasks: int) -> None:
    def build(t: Topology) -> None:
        rows = t.table("rows", str, store="zz")
        changes = rows.to_stream()
        same = by_value(changes.map_values(lambda key, _: key, str)).repartition("first-by-name")
        same.left_join(rows, pair, str).to("out")

    assert Driven(build, tasks=tasks).feed("rows", ("a", "1", 5), ("a", "2", 5)) == [("a", "a+1", 5), ("a", "a+2", 5)]


@TASKS
def test_stream_joins_its_own_count_by_another_key(tasks: int) -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        counts = words.group_by(lambda _, word: word, str).count(store="n")
        words.left_join(counts, pair, str).to("out")

    run = Driven(build, tasks=tasks)
    assert run.feed("in", ("x", "y", 1), ("y", "x", 2), ("y", "z", 3))[-1] == ("y", "z+1", 3)


@TASKS
def test_a_stream_joins_itself_under_another_key(tasks: int) -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.join(by_value(words), pair, str, windows=within(10), store="j").to("out")

    run = Driven(build, tasks=tasks)
    assert run.feed("in", ("x", "y", 1), ("y", "z", 2)) == [("y", "z+y", 2)]


@TASKS
def test_table_joins_an_aggregate_of_itself(tasks: int) -> None:
    def build(t: Topology) -> None:
        rows = t.table("rows", str, store="rows")
        sizes = rows.group_by(lambda _, group: group, str).count(store="sizes")
        rows.left_join(sizes, pair, str).to_stream().to("out")
        sizes.join(rows, pair, str).to_stream().to("back")

    run = Driven(build, tasks=tasks)
    run.feed("rows", ("a", "g", 1), ("g", "h", 2), ("b", "g", 3))
    assert [sent for sent in run.by_topic("out") if sent[0] == "g"][-1] == ("g", "h+2", 3)
    assert run.by_topic("back")[-1] == ("g", "2+h", 3)


@TASKS
def test_a_foreign_key_of_rows_that_derive_from_the_other_table(tasks: int) -> None:
    def build(t: Topology) -> None:
        towns = t.table("towns", str, store="towns")
        sizes = towns.group_by(lambda _, country: country, str).count(store="sizes")
        result = sizes.left_join_by_foreign_key(towns, lambda country, _: f"capital of {country}", pair, str, store="j")
        result.to_stream().to("out")

    run = Driven(build, tasks=tasks)
    run.feed("towns", ("rome", "it", 1), ("capital of it", "it", 2))
    assert run.by_topic("out")[-1] == ("it", "2+it", 2)


TEXT: Fold[str, str] = Fold(lambda: "", lambda _, value, text: text + value)


@TASKS
def test_streams_on_both_sides_of_a_repartition_merge_and_aggregate(tasks: int) -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        again = by_value(words).repartition("again")
        words.merge(again).group_by_key().count(store="n").to_stream().to("merged")
        both = words.group_by_key().cogroup(TEXT).cogroup(again.group_by_key(), TEXT)
        both.aggregate(str, store="t").to_stream().to("cogrouped")

    run = Driven(build, tasks=tasks)
    run.feed("in", ("x", "y", 1), ("y", "y", 2))
    assert {key: value for key, value, _ in run.by_topic("merged")} == {"x": 1, "y": 3}
    assert {key: value for key, value, _ in run.by_topic("cogrouped")} == {"x": "y", "y": "yyy"}


def aggregates_of_windows(t: Topology) -> None:
    counts, others = (
        t.stream(topic, str).group_by_key().windowed_by(tumbling(10)).count(store=topic) for topic in ("in", "other")
    )
    again = others.to_stream().repartition("by-window").to_table(store="again")
    counts.join(again, pair, str).to_stream().to("out")


def test_windowed_aggregate_joins_rows_repartitioned_by_key_and_window() -> None:
    """A windowed aggregate is partitioned by its key alone, but a repartition of its rows by key and window."""
    run = Driven(aggregates_of_windows, tasks=3)
    for number in range(9):
        run.pipe("in", f"k{number}", "v", number)
        run.pipe("other", f"k{number}", "v", number)
    assert len({key for key, _, _ in run.by_topic("out")}) == 9


PLAIN: dict[str, tuple[Callable[[Topology], Any], list[str]]] = {
    "a join of one sub-topology": (
        lambda t: t.stream("in", str).join(t.table("rows", str, store="rows"), pair, str).to("out"),
        [""],
    ),
    "two rekeyed streams joined with one table": (
        lambda t: [
            by_value(t.stream(topic, str)).join(rows, pair, str).to("out")
            for rows in [t.table("rows", str, store="rows")]
            for topic in "ab"
        ],
        ["", "b", "rows-joined"],
    ),
}


@pytest.mark.parametrize("what", PLAIN)
def test_no_unnecessary_repartition_is_added(what: str) -> None:
    build, parts = PLAIN[what]
    assert names(Driven(build)) == parts
