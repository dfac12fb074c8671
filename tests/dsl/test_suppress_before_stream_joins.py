"""A record that makes `suppress` emit a row is joined with the suppressed table after this row is emitted.

This holds for any order of the branches, with and without a grace period of the join.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from forebay.builder import Table, Topology
from forebay.operators import Fold, UntilTimeLimit
from tests.dsl.driving import Driven

SUM: Fold[int, int] = Fold(lambda: 0, lambda _key, value, total: total + value)


def build_join(t: Topology, table_first: bool, limit_ms: int, max_records: int | None, grace_ms: int | None) -> None:
    stream = t.stream("in", int)

    def table() -> Table[str, int]:
        sums = stream.group_by_key().aggregate(SUM, int, store="sums")
        held = sums.suppress(UntilTimeLimit(limit_ms), store="held", max_records=max_records)
        # A table join that the record reaches, but rows from suppress do not, must not change the results.
        sums.join(sums.filter(lambda _, value: value % 2 == 0), lambda one, other: one + other, int).to_stream().to("x")
        return held.materialized("kept", history_retention_ms=None if grace_ms is None else 100_000)

    rows = table() if table_first else None
    records = stream.map_values(lambda _, value: value, int)
    rows = rows or table()
    waits: dict[str, Any] = {"grace_ms": grace_ms, "waiting": "waiting"} if grace_ms else {}
    records.left_join(rows, lambda one, other: f"{one}/{other}", str, **waits).to("out")


def results(restarts: bool, **options: Any) -> list[tuple[Any, Any, int]]:
    dice, driven, now = random.Random(7), Driven(partial(build_join, **options)), 0
    for _ in range(40):
        now += dice.choice((0, 1, 3, 9))
        driven.pipe("in", dice.choice("abc"), dice.randint(0, 9), now)
        if restarts:
            driven.driver.restart()
    driven.idle(1_000)
    return driven.by_topic("out")


@pytest.mark.parametrize("grace_ms", [None, 0, 4])
@pytest.mark.parametrize(("limit_ms", "max_records"), [(5, None), (10_000, 1), (20, 2)])
def test_the_order_of_declarations_changes_no_result(
    limit_ms: int, max_records: int | None, grace_ms: int | None
) -> None:
    options = {"limit_ms": limit_ms, "max_records": max_records, "grace_ms": grace_ms}
    table_first = results(False, table_first=True, **options)
    assert len(table_first) == 40
    assert any(value.rpartition("/")[2] != "None" for _, value, _ in table_first)
    assert results(False, table_first=False, **options) == table_first
    assert results(True, table_first=False, **options) == table_first


@pytest.mark.parametrize("table_first", [False, True])
def test_a_record_meets_the_row_that_suppress_emits_because_of_it(table_first: bool) -> None:
    build = partial(build_join, table_first=table_first, limit_ms=10_000, max_records=1, grace_ms=None)
    driven = Driven(build)
    driven.feed("in", ("a", 1, 0), ("b", 2, 1), ("a", 4, 2), ("b", 8, 3))
    # Each record evicts the previous update: b's first evicts a's first, a's second b's first, b's second a's second.
    assert [value for _, value, _ in driven.by_topic("out")] == ["1/None", "2/None", "4/1", "8/2"]
