"""A row that fails when it is sent to an added store counts as absent there. Later changes of its key succeed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.processor import filling
from forebay.testing import TestDriver
from tests.dsl.test_added_stores import BOTH, GROUPS, KEYS, SALE, Add, Both, Sale, both, driver_of, total, values_of
from tests.states import state_of

UNLUCKY = 13


def refuse(row: Sale | None) -> None:
    if row is not None and row.amount == UNLUCKY:
        raise ValueError("an unlucky amount")


def group_of(_key: str, row: Sale) -> str:
    refuse(row)
    return row.group


def is_odd(_key: str, row: Sale) -> bool:
    refuse(row)
    return row.amount % 2 > 0


def double(_key: str, row: Sale) -> Sale:
    refuse(row)
    return Sale(row.group, row.amount * 2)


def key_of(_key: str, row: Sale) -> str | None:
    refuse(row)
    return None if row.amount % 4 == 0 else f"k{row.amount % 12}"


def lucky_both(one: Sale | None, other: Sale | None) -> Both:
    refuse(one)
    return both(one, other)


def added_up(one: Sale, other: Sale | None) -> Sale:
    return Sale(one.group, one.amount + (other.amount if other else 0))


def sum_of_both(table: Any) -> Any:
    return total(table, lambda row: row.left * 100 + row.right)


def double_rows(table: Any) -> Any:
    return table.map_values(double, SALE)


ADDED: dict[str, Add] = {
    "group": lambda _t, one, _o: one.group_by(group_of, str).count(store="x"),
    "filter": lambda _t, one, _o: total(one.filter(is_odd)),
    "filter not": lambda _t, one, _o: total(one.filter_not(is_odd)),
    "mapping": lambda _t, one, _o: total(double_rows(one)),
    "mapping of a filter": lambda _t, one, _o: total(double_rows(one.filter(is_odd))),
    "stored rows": lambda _t, one, _o: one.filter(is_odd).materialized("x"),
    "stored mapping": lambda _t, one, _o: double_rows(one).materialized("x"),
    "versions": lambda _t, one, _o: one.filter(is_odd).materialized("x", 100_000),
    "joiner": lambda _t, one, other: sum_of_both(one.join(other, lucky_both, BOTH)),
    "joiner of a left join": lambda _t, one, other: sum_of_both(one.left_join(other, lucky_both, BOTH)),
    "left side": lambda _t, one, other: sum_of_both(double_rows(one).left_join(other, both, BOTH)),
    "right side": lambda _t, one, other: sum_of_both(one.left_join(double_rows(other), both, BOTH)),
    "both sides": lambda _t, one, other: sum_of_both(double_rows(one).outer_join(double_rows(other), both, BOTH)),
    "self-join": lambda _t, one, _o: sum_of_both(one.filter(is_odd).outer_join(double_rows(one), both, BOTH)),
    "joins": lambda _t, one, other: sum_of_both(
        one.left_join(double_rows(other), added_up, SALE).outer_join(double_rows(one), both, BOTH)
    ),
    "foreign key": lambda _t, one, other: one.left_join_by_foreign_key(other, key_of, both, BOTH, store="x"),
    "left side of a foreign key": lambda _t, one, other: double_rows(one).join_by_foreign_key(
        other, lambda _, row: f"k{row.amount % 9}", both, BOTH, store="x"
    ),
    "right side of a foreign key": lambda _t, one, other: one.left_join_by_foreign_key(
        double_rows(other), lambda _, row: f"k{row.amount % 9}", both, BOTH, store="x"
    ),
}
Changes = list[tuple[str, str, Sale | None, int]]


def changes(rng: random.Random, count: int, begin: int, amounts: list[int]) -> Changes:
    def row() -> Sale | None:
        return None if rng.random() < 0.2 else Sale(rng.choice(GROUPS), rng.choice(amounts))

    return [(rng.choice(("one", "other")), rng.choice(KEYS), row(), begin + at) for at in range(count)]


def changes_of_all_keys(rng: random.Random, begin: int) -> Changes:
    rows = [(topic, key) for topic in ("one", "other") for key in KEYS]
    return [(topic, key, Sale("g", rng.randrange(20, 90)), begin + at) for at, (topic, key) in enumerate(rows)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("added", ADDED)
def test_later_changes_of_failed_rows_give_the_result_of_a_job_that_had_the_store(
    added: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 1 + seed)
    rng = random.Random(seed)
    before = changes(rng, 40, 0, [UNLUCKY, UNLUCKY, 20, 21, 22])
    old, new, whole = driver_of(None), driver_of(ADDED[added]), driver_of(ADDED[added])
    old.pipe_all(before)
    new.restore(state_of(old))
    whole.pipe_all(before)
    assert {failure.headers["error.class"] for failure in new.errors} <= {"ValueError"}
    for later in changes(rng, 30, 200, [20, 21, 22]), changes_of_all_keys(rng, 300):
        reported = len(new.errors)
        new.pipe_all(later)
        whole.pipe_all(later)
        # A joiner fails for the other row, too, until the row that it refuses is replaced.
        assert len(new.errors) == reported or "joiner" in added
        new.restart()
        new.errors.clear()
    assert values_of(new) == values_of(whole)
    deletes: Changes = [("one", key, None, 400 + at) for at, key in enumerate(KEYS)]
    for driver in (new, whole):
        driver.pipe_all(deletes)
    assert values_of(new) == values_of(whole)
    assert not new.errors


def test_a_former_row_that_fails_without_such_rows_fails_its_record() -> None:
    """If only the subtraction were left out, the aggregate would have the row forever."""
    is_broken = False

    def group(_key: str, row: Sale) -> str:
        if is_broken and row.amount == 1:
            raise ValueError("broken")
        return row.group

    driver = driver_of(lambda _t, one, _o: one.group_by(group, str).count(store="x"), tasks=1)
    driver.pipe("k1", Sale("g", 1), "one", 1)
    is_broken = True
    driver.pipe("k1", Sale("g", 2), "one", 2)
    assert [failure.key for failure in driver.errors] == [b"k1"]
    assert values_of(driver) == {"g": 1}


def test_records_of_a_stream_are_joined_as_if_the_failed_row_were_absent() -> None:
    def driver(*, is_added: bool) -> TestDriver:
        topology = Topology()
        table, stream = topology.table("one", SALE, store="one"), topology.stream("s", SALE)
        table.to_stream().to("rows")
        if is_added:
            stream.left_join(double_rows(table), both, BOTH).to("o")
            double_rows(table).materialized("x")
        return TestDriver(job(NoSettings, lambda _: topology), tasks=1)

    old, new = driver(is_added=False), driver(is_added=True)
    old.pipe_all([("one", "k1", Sale("g", UNLUCKY), 1), ("one", "k2", Sale("g", 4), 2)])
    new.restore(state_of(old))
    assert len(new.errors) == 1
    new.pipe_all([("s", "k1", Sale("g", 5), 3), ("s", "k2", Sale("g", 6), 4)])
    assert [output.value.right for output in new.outputs if output.topic == "o"] == [0, 8]
    assert len(new.errors) == 1
