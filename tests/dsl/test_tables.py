"""Operators of tables: filter, map, join, group with a subtractor, foreign-key join, suppress and materialize."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.builder import Topology
from forebay.operators import Fold, UntilTimeLimit, UntilWindowCloses
from forebay.time import tumbling
from tests.dsl.driving import Driven

SUM: Fold[int, int] = Fold(lambda: 0, lambda _, v, a: a + v, lambda _, v, a: a - v)


def test_row_that_stops_matching_a_filter_is_deleted_and_unmatched_rows_send_nothing() -> None:
    """As in Kafka Streams' KTableFilterTest."""
    run = Driven(lambda t: t.table("in", int, store="rows").filter(lambda _, v: v > 1).to_stream().to("out"))
    records = [("a", 1, 1), ("a", 2, 2), ("a", 1, 3), ("a", 1, 4), ("a", 3, 5), ("a", None, 6), ("a", None, 7)]
    assert run.feed("in", *records) == [("a", 2, 2), ("a", None, 3), ("a", 3, 5), ("a", None, 6)]


def test_filter_not_and_map_values() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        rows.filter_not(lambda _, v: v > 1).map_values(lambda k, v: f"{k}{v}", str).to_stream().to("out")

    assert Driven(build).feed("in", ("a", 1, 1), ("a", 2, 2)) == [("a", "a1", 1), ("a", None, 2)]


def test_tables_are_joined_from_either_side_and_a_mapped_table_is_looked_up_as_mapped() -> None:
    def build(t: Topology) -> None:
        left = t.table("l", str, store="l").filter(lambda _, v: v != "x").map_values(lambda _, v: v.upper(), str)
        right = t.table("r", str, store="r")
        left.join(right, lambda a, b: a + b, str).to_stream().to("inner")
        left.left_join(right, lambda a, b: a + (b or "-"), str).to_stream().to("left")
        left.outer_join(right, lambda a, b: (a or "-") + (b or "-"), str).to_stream().to("outer")

    run = Driven(build, tasks=2)
    run.pipe("l", "k", "a", 1)
    run.pipe("r", "k", "b", 2)
    run.pipe("l", "k", "x", 3)
    run.pipe("r", "k", None, 4)
    assert run.by_topic("inner") == [("k", "Ab", 2), ("k", None, 3)]
    assert run.by_topic("left") == [("k", "A-", 1), ("k", "Ab", 2), ("k", None, 3)]
    assert run.by_topic("outer") == [("k", "A-", 1), ("k", "Ab", 2), ("k", "-b", 3), ("k", None, 4)]


def test_three_tables_and_a_table_with_itself() -> None:
    def build(t: Topology) -> None:
        a, b, c = (t.table(name, str, store=name) for name in "abc")
        a.join(b, lambda x, y: x + y, str).join(c, lambda x, y: x + y, str).to_stream().to("three")
        a.join(a, lambda x, y: x + y, str).to_stream().to("self")

    run = Driven(build)
    run.pipe("a", "k", "1", 1)
    run.pipe("c", "k", "3", 2)
    run.pipe("b", "k", "2", 3)
    run.pipe("c", "k", "4", 4)
    assert run.by_topic("three") == [("k", "123", 3), ("k", "124", 4)]
    assert run.by_topic("self")[-1] == ("k", "11", 1)


def test_grouped_table_subtracts_changed_and_deleted_rows() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        grouped = rows.group_by(lambda _, v: "even" if v % 2 == 0 else "odd", str)
        grouped.count(store="n").to_stream().to("counts")
        grouped.aggregate(SUM, int, store="sums").to_stream().to("sums")
        grouped.reduce(lambda a, b: a + b, lambda a, b: a - b, store="reduced").to_stream().to("reduced")

    run = Driven(build, tasks=3)
    run.feed("in", ("a", 2, 1), ("b", 4, 2), ("a", 3, 3), ("b", None, 4))
    counts = [("even", 1, 1), ("even", 2, 2), ("even", 1, 3), ("odd", 1, 3), ("even", 0, 4)]
    sums = [("even", 2, 1), ("even", 6, 2), ("even", 4, 3), ("odd", 3, 3), ("even", 0, 4)]
    by_time = [sorted(run.by_topic(topic), key=lambda sent: sent[2:] + sent[:1]) for topic in ("counts", "sums")]
    assert by_time == [counts, sums], "groups of one change are in different tasks"
    assert run.by_topic("reduced") == run.by_topic("sums")


def test_an_older_version_changes_no_count() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", str, store="rows", history_retention_ms=100)
        rows.group_by(lambda _, v: v, str).count(store="n").to_stream().to("out")

    assert Driven(build).feed("in", ("a", "x", 5), ("a", "y", 4), ("b", "x", 6)) == [("x", 1, 5), ("x", 2, 6)]


def foreign(t: Topology, *, left: bool) -> None:
    orders, customers = t.table("orders", str, store="orders"), t.table("customers", str, store="customers")
    if left:
        expected_join = orders.left_join_by_foreign_key(
            customers, lambda _, v: v or None, lambda a, b: f"{a}:{b}", str, store="joined"
        )
    else:
        expected_join = orders.join_by_foreign_key(
            customers, lambda _, v: v or None, lambda a, b: f"{a}:{b}", str, store="joined"
        )
    expected_join.to_stream().to("out")


@pytest.mark.parametrize("tasks", [1, 3])
def test_rows_joined_by_foreign_key_follow_both_sides(tasks: int) -> None:
    """As in Kafka Streams' KTableKTableForeignKeyJoinIntegrationTest: rows of both sides change and are deleted."""
    run = Driven(lambda t: foreign(t, left=False), tasks)
    assert run.pipe("orders", "1", "anna", 1) == []
    assert run.pipe("customers", "anna", "north", 2) == [("1", "anna:north", 2)]
    assert run.pipe("orders", "2", "anna", 3) == [("2", "anna:north", 3)]
    assert sorted(run.pipe("customers", "anna", "south", 4)) == [("1", "anna:south", 4), ("2", "anna:south", 4)]
    assert run.pipe("orders", "1", "bob", 5) == [("1", None, 5)]
    assert run.pipe("customers", "bob", "west", 6) == [("1", "bob:west", 6)]
    assert run.pipe("customers", "anna", None, 7) == [("2", None, 7)]
    assert run.pipe("orders", "1", None, 8) == [("1", None, 8)]
    assert run.pipe("customers", "bob", "east", 9) == []


def test_a_left_join_by_foreign_key_gives_rows_without_a_partner() -> None:
    run = Driven(lambda t: foreign(t, left=True), tasks=2)
    assert run.pipe("orders", "1", "anna", 1) == [("1", "anna:None", 1)]
    assert run.pipe("customers", "anna", "north", 2) == [("1", "anna:north", 2)]
    assert run.pipe("customers", "anna", None, 3) == [("1", "anna:None", 3)]


steps = st.tuples(
    st.sampled_from(["orders", "customers"]), st.sampled_from("abc"), st.sampled_from(["a", "b", "c", None])
)


@settings(deadline=None, max_examples=80)
@given(st.lists(steps, max_size=25), st.booleans(), st.integers(1, 3))
def test_rows_joined_by_foreign_key_are_those_of_both_tables(
    script: list[tuple[str, str, str | None]], left: bool, tasks: int
) -> None:
    run = Driven(lambda t: foreign(t, left=left), tasks)
    tables: dict[str, dict[str, str]] = {"orders": {}, "customers": {}}
    for ts, (topic, key, value) in enumerate(script):
        run.pipe(topic, key, value, ts)
        if value is None:
            tables[topic].pop(key, None)
        else:
            tables[topic][key] = value
    expected_join: dict[str, Any] = {}
    for key, value, _ in run.by_topic("out"):
        expected_join.pop(key, None) if value is None else expected_join.update({key: value})
    expected = {
        key: f"{customer}:{tables['customers'].get(customer)}"
        for key, customer in tables["orders"].items()
        if left or customer in tables["customers"]
    }
    assert expected_join == expected


def test_suppress_until_a_window_closes_gives_one_result_each_on_an_idle_topic_too() -> None:
    def build(t: Topology) -> None:
        windows = tumbling(10, grace_ms=5)
        counts = t.stream("in", str).group_by_key().windowed_by(windows).count(store="w")
        counts.suppress(UntilWindowCloses(windows), store="held").to_stream().to("out")

    run = Driven(build)
    assert run.feed("in", ("k", "a", 1), ("k", "b", 2), ("k", "c", 14)) == []
    assert [(key.window.start, value) for key, value, _ in run.pipe("in", "k", "d", 15)] == [(0, 2)]
    run.driver.restart()
    assert run.idle(9) == []
    assert [(key.window.start, value) for key, value, _ in run.idle(1)] == [(10, 2)]


def test_suppress_until_a_time_limit_gives_the_newest_of_a_key() -> None:
    def build(t: Topology) -> None:
        t.table("in", int, store="rows").suppress(UntilTimeLimit(10), store="held").to_stream().to("out")

    run = Driven(build)
    assert run.feed("in", ("a", 1, 0), ("a", 2, 5)) == []
    assert run.idle(4) == []
    assert run.idle(1) == [("a", 2, 5)]


def test_materialized_suppressed_table_forwards_former_rows() -> None:
    def build(t: Topology) -> None:
        held = t.table("in", str, store="rows").suppress(UntilTimeLimit(1), store="held").materialized("kept")
        held.group_by(lambda _, v: v, str).count(store="n").to_stream().to("out")

    run = Driven(build)
    sent = run.feed("in", ("a", "x", 0), ("b", "x", 10), ("a", "y", 20), ("c", "z", 30))
    assert sent == [("x", 1, 0), ("x", 2, 10), ("x", 1, 20), ("y", 1, 20)]


def test_materialized_table_can_be_queried() -> None:
    def build(t: Topology) -> None:
        t.table("in", int, store="rows").filter(lambda _, v: v > 1).materialized("high").to_stream().to("out")

    run = Driven(build)
    run.feed("in", ("a", 2, 1), ("b", 1, 2))
    assert {key: row.value for key, row in run.driver.store("high").items()} == {"a": 2}


def test_only_a_tables_rows_are_cached_when_the_latest_are_emitted() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.to("records")
        words.group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build)
    assert run.job.table_outputs == {"counts"}


def test_table_joins_itself_and_an_already_joined_table_by_foreign_key() -> None:
    def build(t: Topology) -> None:
        staff, rooms = t.table("staff", str, store="staff"), t.table("rooms", str, store="rooms")
        staff.left_join(rooms, lambda boss, room: f"{boss} in {room}", str).to_stream().to("placed")
        bosses = staff.left_join_by_foreign_key(staff, lambda _, boss: boss, "{}<{}".format, str, store="bosses")
        bosses.to_stream().to("bosses")
        staff.join_by_foreign_key(rooms, lambda _, boss: boss, "{}@{}".format, str, store="at").to_stream().to("at")

    run = Driven(build, tasks=3)
    run.feed("staff", ("anna", "bert", 1), ("bert", "carl", 2), ("bert", "dora", 3), ("bert", None, 4))
    run.feed("rooms", ("bert", "r1", 5), ("bert", None, 6))
    assert {key: [(v, at) for k, v, at in run.by_topic("bosses") if k == key] for key in ("anna", "bert")} == {
        "anna": [("bert<None", 1), ("bert<carl", 2), ("bert<dora", 3), ("bert<None", 4)],
        "bert": [("carl<None", 2), ("dora<None", 3), (None, 4)],
    }
    assert run.by_topic("at") == [("anna", "bert@r1", 5), ("anna", None, 6)]


def test_filtered_and_mapped_table_is_versioned_if_materialized_with_history() -> None:
    def build(t: Topology) -> None:
        prices = t.table("prices", int, store="prices", history_retention_ms=100)
        dear = prices.filter(lambda _, price: price > 5).map_values(lambda _, price: price * 10, int)
        retained = dear.materialized("dear", history_retention_ms=100)
        t.stream("asked", str).left_join(retained, "{}:{}".format, str).to("as-of")
        retained.to_stream().to("latest")
        dear.group_by(lambda _, price: "all", str).count(store="count").to_stream().to("counts")

    run = Driven(build)
    run.feed("prices", ("tea", 7, 10), ("tea", 9, 30), ("tea", 3, 20), ("tea", 8, 15))
    asked = [("tea", f"{at}", at) for at in (9, 12, 17, 22, 31)]
    assert [value for _, value, _ in run.feed("asked", *asked)] == ["9:None", "12:70", "17:80", "22:None", "31:90"]
    assert run.by_topic("latest") == [("tea", 70, 10), ("tea", 90, 30)], "late updates only change the history"
    assert [value for _, value, _ in run.by_topic("counts")] == [1, 1]


def test_join_grace_waits_for_late_rows_of_a_filtered_versioned_table() -> None:
    def build(t: Topology) -> None:
        prices = t.table("prices", int, store="prices", history_retention_ms=100)
        dear = prices.filter(lambda _, price: price > 5).materialized("dear", history_retention_ms=100)
        asked = t.stream("asked", str)
        asked.left_join(dear, "{}:{}".format, str, grace_ms=20, waiting="waiting").to("later")

    run = Driven(build)
    run.feed("prices", ("tea", 7, 10), ("tea", 9, 30))
    run.feed("asked", ("tea", "a", 25))
    run.feed("prices", ("tea", 8, 20))
    assert run.feed("asked", ("tea", "b", 45)) == [("tea", "a:8", 25)]
