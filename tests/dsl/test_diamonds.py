"""If both sides of a join derive from one table, a record that changes both sides causes one result."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from forebay.builder import Table, Topology
from tests.dsl.driving import Driven

Rows = Table[str, int]


def both(one: int | None, other: int | None) -> str:
    return f"{one}/{other}"


SENT = [("k", 9, 1), ("k", 8, 2), ("k", 2, 3), ("k", 8, 4), ("k", None, 5)]


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_each_record_gives_one_change_of_the_joined_row(is_kept: bool, is_first: bool) -> None:
    """This holds for any order of the sides, whether or not they are materialized."""

    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        many = rows.filter(lambda _, n: n > 5)
        side = many.materialized("many") if is_kept else many
        pairs = rows.left_join(side, both, str) if is_first else side.outer_join(rows, lambda a, b: both(b, a), str)
        pairs.to_stream().to("out")

    right = [("k", "9/9", 1), ("k", "8/8", 2), ("k", "2/None", 3), ("k", "8/8", 4), ("k", None, 5)]
    assert Driven(build).feed("in", *SENT) == right


JOINS: dict[str, Callable[[Rows, Rows], Table[str, str]]] = {
    "inner": lambda one, other: one.join(other, both, str),
    "left": lambda one, other: one.left_join(other, both, str),
    "outer": lambda one, other: one.outer_join(other, both, str),
}


@pytest.mark.parametrize("kind", JOINS)
def test_a_count_over_a_self_join_follows_its_rows(kind: str) -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        pairs = JOINS[kind](rows, rows)
        pairs.group_by(lambda _, pair: pair, str).count(store="count").to_stream().to("out")

    sent = Driven(build).feed("in", ("k", 1, 1), ("k", 2, 2), ("j", 2, 3), ("k", None, 4), ("j", None, 5))
    assert sent == [
        ("1/1", 1, 1), ("1/1", 0, 2), ("2/2", 1, 2), ("2/2", 2, 3), ("2/2", 1, 4), ("2/2", 0, 5),
    ]  # fmt: skip


def test_a_diamond_of_diamonds_emits_once() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        odd, small = rows.filter(lambda _, n: n % 2 == 1), rows.filter(lambda _, n: n < 10)
        one = odd.left_join(small, lambda a, b: a * 10 + (b or 0), int)
        two = rows.outer_join(small, lambda a, b: (a or 0) - (b or 0), int)
        one.outer_join(two.materialized("two"), both, str).left_join(rows, lambda a, b: f"{a}={b}", str).to_stream().to(
            "out"
        )

    sent = Driven(build).feed("in", ("k", 3, 1), ("k", 13, 2), ("k", 4, 3), ("k", None, 4))
    assert sent == [("k", "33/0=3", 1), ("k", "130/13=13", 2), ("k", "None/0=4", 3), ("k", None, 4)]


def test_a_record_of_a_stream_meets_the_table_that_it_changed() -> None:
    """This holds even if the table is declared after the join's stream and is materialized."""

    def build(t: Topology) -> None:
        numbers = t.stream("in", int)
        doubled = numbers.map_values(lambda _, n: 2 * n, int)
        total = numbers.group_by_key().reduce(lambda one, other: one + other, store="total")
        doubled.left_join(total.materialized("kept"), both, str).to("out")

    assert Driven(build).feed("in", ("k", 1, 1), ("k", 5, 2)) == [("k", "2/1", 1), ("k", "10/6", 2)]


def test_each_flat_mapped_element_joins_the_table_as_updated_by_that_element() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str).flat_map_values(lambda _, text: text.split(), str)
        shown = words.map_values(lambda _, word: word.upper(), str)
        shown.left_join(words.group_by_key().count(store="count"), lambda word, n: f"{word}{n}", str).to("out")

    assert Driven(build).feed("in", ("k", "a b", 1)) == [("k", "A1", 1), ("k", "B2", 1)]


def test_failed_record_leaves_no_state_for_the_next() -> None:
    def build(t: Topology) -> None:
        def refuse(_: str, n: int) -> bool:
            if n == 2:
                raise ValueError("two")
            return True

        rows = t.table("in", int, store="rows")
        rows.join(rows.filter(refuse), both, str).to_stream().to("out")

    run = Driven(build)
    for key, value in (("j", 1), ("k", 2), ("k", 3)):
        run.driver.pipe(key, value, "in", value)
    assert run.by_topic("out") == [("j", "1/1", 1), ("k", "3/3", 3)]
    assert len(run.driver.errors) == 1


def test_row_mapped_to_none_is_missing_in_a_join() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        some = rows.map_values(lambda _, n: cast(int, n if n > 5 else None), int)
        t.table("other", int, store="other").left_join(some, both, str).to_stream().to("out")

    run = Driven(build)
    run.feed("in", ("k", 1, 1))
    assert run.feed("other", ("k", 2, 2)) == [("k", "2/None", 2)]


def test_names_generated_for_long_join_chains_are_valid_topic_names() -> None:
    def build(t: Topology) -> None:
        rows = t.table("in", int, store="rows")
        expected_join = rows
        for _ in range(6):
            expected_join = expected_join.outer_join(rows, lambda a, b: a or b or 0, int)
        by_value = expected_join.group_by(lambda key, _: key, str).count(store="count")
        by_value.left_join(expected_join, both, str).to_stream().to("out")

    assert Driven(build).feed("in", ("k", 1, 1))[-1] == ("k", "1/1", 1)
