"""Table joins and aggregates follow every change of their tables, except late updates of versioned tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import (
    Change,
    Join,
    JoinedTable,
    LatestByOffset,
    LatestByTimestamp,
    Result,
    TableAggregate,
    TableTableJoin,
)
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from tests.operators.cells import pair

KINDS: dict[str, Callable[[Bench, str], LatestByOffset[Cell] | LatestByTimestamp[Cell]]] = {
    "latest by offset": lambda bench, name: LatestByOffset(bench.open(TimestampedKeyValueStore(name, Cell))),
    "latest by timestamp": lambda bench, name: LatestByTimestamp(
        bench.open(VersionedKeyValueStore(name, Cell, history_retention_ms=10_000))
    ),
}


def table(bench: Bench, kind: str, name: str = "t") -> Any:
    return KINDS[kind](bench, name)


def test_a_late_update_of_a_versioned_table_is_ignored_and_an_equal_timestamp_is_not(bench: Bench) -> None:
    prices = table(bench, "latest by timestamp")
    assert prices.update("k", Cell("8"), 10) == Change("k", Cell("8"), None, 10)
    assert prices.update("k", Cell("7"), 9) is None
    assert prices.update("k", Cell("9"), 10) == Change("k", Cell("9"), Cell("8"), 10, old_timestamp=10)
    assert prices.update("k", None, 11) == Change("k", None, Cell("9"), 11, old_timestamp=10)
    assert prices.update("k", Cell("5"), 10) is None
    assert prices.get("k") is None


def test_an_update_before_the_history_is_ignored(bench: Bench) -> None:
    prices = LatestByTimestamp(bench.open(VersionedKeyValueStore("t", Cell, history_retention_ms=0)))
    prices.update("clock", Cell("x"), 10)
    assert prices.update("k", Cell("8"), 9) is None
    assert prices.update("k", Cell("8"), 10) is not None


def test_a_plain_table_takes_the_last_update_regardless_of_its_timestamp(bench: Bench) -> None:
    prices = table(bench, "latest by offset")
    prices.update("k", Cell("8"), 10)
    assert prices.update("k", Cell("7"), 9) == Change("k", Cell("7"), Cell("8"), 9, old_timestamp=10)
    assert prices.get("k") == (Cell("7"), 9)


def test_the_result_carries_the_later_timestamp_of_both_sides(bench: Bench) -> None:
    left, right = table(bench, "latest by offset", "l"), table(bench, "latest by offset", "r")
    join = TableTableJoin(left, right, Join.INNER, pair)
    assert join.on_left(left.update("k", Cell("a"), 10)) is None
    assert join.on_right(right.update("k", Cell("b"), 5)) == Change("k", Cell("ab"), None, 10)
    assert join.on_left(left.update("k", Cell("c"), 3)) == Change("k", Cell("cb"), Cell("ab"), 5, old_timestamp=10)


def test_nothing_is_sent_for_deleting_what_was_never_there(bench: Bench) -> None:
    left, right = table(bench, "latest by offset", "l"), table(bench, "latest by offset", "r")
    for kind in Join:
        join = TableTableJoin(left, right, kind, pair)
        assert join.on_left(left.update("k", None, 1)) is None
        assert join.on_right(right.update("k", None, 1)) is None


@settings(deadline=None, max_examples=150)
@given(
    kinds=st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS))),
    how=st.sampled_from(Join),
    updates=st.lists(
        st.tuples(st.sampled_from("LR"), st.sampled_from("ab"), st.booleans(), st.integers(0, 20)), max_size=25
    ),
)
def test_the_joined_table_is_the_join_of_both_tables(
    kinds: tuple[str, str], how: Join, updates: list[tuple[str, str, bool, int]]
) -> None:
    model: dict[str, dict[str, tuple[int, Cell | None]]] = {"L": {}, "R": {}}
    seen: dict[str, Cell | None] = {}
    with open_bench(Backend.IN_MEMORY) as bench:
        left, right = table(bench, kinds[0], "l"), table(bench, kinds[1], "r")
        join, view = TableTableJoin(left, right, how, pair), JoinedTable(left, right, how, pair)
        for number, (side, key, deletes, ts) in enumerate(updates):
            value = None if deletes else Cell(chr(65 + number))
            rows, versioned = model[side], kinds[side == "R"] == "latest by timestamp"
            ignored = versioned and key in rows and ts < rows[key][0]
            if not ignored:
                rows[key] = (ts, value)
            change = (
                join.on_left(left.update(key, value, ts))
                if side == "L"
                else join.on_right(right.update(key, value, ts))
            )
            if change is not None:
                assert not ignored
                assert change.old == seen.get(key)
                seen[key] = change.new
            for k in "ab":
                a, b = model["L"].get(k, (0, None))[1], model["R"].get(k, (0, None))[1]
                there = {Join.INNER: a and b, Join.LEFT: a, Join.OUTER: a or b}[how]
                result = view.get(k)
                assert (result.value if result else None) == seen.get(k) == (pair(a, b) if there else None)
            bench.commit()


def counts(bench: Bench) -> TableAggregate[Cell, Cell, Cell]:
    return TableAggregate(
        bench.open(TimestampedKeyValueStore("counts", Cell)),
        lambda _, value: None if value == Cell("none") else (value.json, value),
        lambda: Cell("0"),
        lambda _, value, total: Cell(str(int(total.json) + 1)),
        lambda _, value, total: Cell(str(int(total.json) - 1)),
    )


def test_a_row_that_changes_its_group_is_subtracted_first_then_added(bench: Bench) -> None:
    votes, count = table(bench, "latest by offset"), counts(bench)
    assert count.process(votes.update("anna", Cell("curry"), 4)) == [Result("curry", Cell("1"), 4)]
    assert count.process(votes.update("anna", Cell("pasta"), 3)) == [
        Result("curry", Cell("0"), 4),
        Result("pasta", Cell("1"), 3),
    ]
    assert count.process(votes.update("anna", Cell("pasta"), 9)) == [Result("pasta", Cell("1"), 9)]
    assert count.process(votes.update("anna", Cell("none"), 10)) == [Result("pasta", Cell("0"), 10)]
    assert count.process(votes.update("anna", None, 11)) == []
    assert count.process(None) == []


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(deadline=None, max_examples=80)
@given(
    updates=st.lists(
        st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from(["x", "y", "z"]), st.integers(0, 20)), max_size=30
    )
)
def test_counts_are_those_of_the_tables_rows(kind: str, updates: list[tuple[str, str | None, int]]) -> None:
    rows: dict[str, tuple[int, str | None]] = {}
    with open_bench(Backend.IN_MEMORY) as bench:
        votes, count = table(bench, kind), counts(bench)
        latest: dict[str, str] = {}
        for key, value, ts in updates:
            if kind == "latest by offset" or ts >= rows.get(key, (0, None))[0]:
                rows[key] = (ts, value)
            for result in count.process(votes.update(key, None if value is None else Cell(value), ts)):
                assert result.key
                assert result.value
                latest[result.key] = result.value.json
            bench.commit()
        held = [value for _, value in rows.values()]
        assert all(int(latest.get(value, "0")) == held.count(value) for value in "xyz")
