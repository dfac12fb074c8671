"""A store that is added behind a table with rows gets these rows first, and the changes of the rows that it has."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from forebay import Fold
from forebay.builder import Topology, ValueTransformer, job
from forebay.builder.notebook_view import NoSettings
from forebay.codec import Unavailable
from forebay.operators import UntilWindowCloses
from forebay.processor import Context, filling
from forebay.records import Record
from forebay.runtime.errors import StoreChanged
from forebay.runtime.task.pacing import Limits
from forebay.serde.json_format import json_of
from forebay.stores.internal import FILLED
from forebay.testing import TestDriver
from forebay.time.windows import tumbling
from tests.states import state_of

Add = Callable[[Topology, Any, Any], Any]
KEYS, GROUPS = [f"k{number}" for number in range(9)], ["g", "h", "i"]


class Sale(Record):
    group: str
    amount: int


class Both(Record):
    group: str
    left: int
    right: int


SALE, BOTH = json_of(Sale), json_of(Both)


class Doubling(ValueTransformer[str, Sale, int]):
    def transform(self, key: str, value: Sale | None, ctx: Context[Any], /) -> int | None:
        return None if value is None else value.amount * 2


def total(table: Any, amount: Callable[[Any], int] = lambda row: row.amount, store: str = "x") -> Any:
    fold: Fold[Any, int] = Fold(int, lambda _k, row, n: n + amount(row), lambda _k, row, n: n - amount(row))
    return table.group_by(lambda _, row: row.group, str).aggregate(fold, int, store=store)


def both(one: Sale | None, other: Sale | None) -> Both:
    first = one or other
    assert first is not None
    return Both(first.group, one.amount if one else 0, other.amount if other else 0)


def sum_of_both(table: Any) -> Any:
    return total(table, lambda row: row.left * 100 + row.right)


ADDED: dict[str, Add] = {
    "count": lambda _t, one, _other: one.group_by(lambda _, row: row.group, str).count(store="x"),
    "sum": lambda _t, one, _other: total(one),
    "sum of filtered rows": lambda _t, one, _other: total(one.filter(lambda _, row: row.amount % 3 > 0)),
    "sum of mapped rows": lambda _t, one, _other: total(
        one.map_values(lambda _, row: Sale(row.group, -row.amount) if row.amount % 3 else None, SALE)
    ),
    "inner join": lambda _t, one, other: sum_of_both(one.join(other, both, BOTH)),
    "left join": lambda _t, one, other: sum_of_both(one.left_join(other, both, BOTH)),
    "outer join": lambda _t, one, other: sum_of_both(one.outer_join(other, both, BOTH)),
    "self-join": lambda _t, one, _other: sum_of_both(
        one.filter(lambda _, row: row.amount % 2 > 0).join(one.filter(lambda _, row: row.amount % 3 > 0), both, BOTH)
    ),
    "stored rows": lambda _t, one, _other: one.filter(lambda _, row: row.amount % 3 > 0).materialized("x"),
    "aggregate of stored rows": lambda _t, one, _other: total(
        one.filter(lambda _, row: row.amount % 3 > 0).materialized("y")
    ),
    "versions": lambda _t, one, _other: one.materialized("x", 100_000),
    "transformed rows": lambda _t, one, _other: one.transform_values(Doubling, int, store="x"),
    "foreign key": lambda _t, one, other: one.join_by_foreign_key(
        other, lambda _, row: f"k{row.amount % 9}", both, BOTH, store="x"
    ),
    "foreign key left": lambda _t, one, other: one.left_join_by_foreign_key(
        other, lambda _, row: None if row.amount % 4 == 0 else f"k{row.amount % 12}", both, BOTH, store="x"
    ),
    "foreign key of the table itself": lambda _t, one, _other: one.join_by_foreign_key(
        one, lambda _, row: f"k{row.amount % 9}", both, BOTH, store="x"
    ),
    "join with an aggregate of the table": lambda _t, one, _other: one.join(
        one.group_by(lambda key, _: f"k{int(key[1:]) // 2}", str).count(store="y"), lambda row, n: row.amount * n, int
    ).materialized("x"),
    "left join of an aggregate with the table": lambda _t, one, _other: (
        one.group_by(lambda key, _: f"k{int(key[1:]) // 2}", str)
        .count(store="y")
        .left_join(one, lambda n, row: n * (row.amount if row else 1), int)
        .materialized("x")
    ),
    "aggregate of a foreign-key join": lambda _t, one, other: sum_of_both(
        one.join_by_foreign_key(other, lambda _, row: f"k{row.amount % 9}", both, BOTH, store="y")
    ),
    "aggregate of an aggregate": lambda _t, one, _other: total(
        total(one, store="y").map_values(lambda key, n: Sale("all" if key < "h" else "rest", n), SALE)
    ),
}
TABLES: dict[str, dict[str, Any]] = {"a table": {}, "a versioned table": {"history_retention_ms": 1_000_000}}


def driver_of(add: Add | None, tasks: int = 2, **options: Any) -> TestDriver:
    topology = Topology()
    one, other = topology.table("one", SALE, store="one", **options), topology.table("other", SALE, store="other")
    one.filter(lambda _, row: row.amount > 50).to_stream().to("large")
    other.to_stream().to("others")
    if add is not None:
        add(topology, one, other).to_stream().to("o")
    return TestDriver(job(NoSettings, lambda _: topology), tasks=tasks)


def changes(rng: random.Random, count: int, begin: int) -> list[tuple[str, str, Sale | None, int]]:
    def row() -> Sale | None:
        return None if rng.random() < 0.2 else Sale(rng.choice(GROUPS), rng.randrange(1, 99))

    return [(rng.choice(("one", "other")), rng.choice(KEYS), row(), begin + at) for at in range(count)]


def values_of(driver: TestDriver) -> dict[Any, Any]:
    """Return the store's rows, of versions the latest ones, without the sums of groups that have no more rows."""
    values = {}
    for key, row in driver.store("x").items():
        latest = row[-1][0] if isinstance(row, tuple) and isinstance(row[0], tuple) else row
        values[key] = getattr(latest, "value", latest)
    return {key: value for key, value in values.items() if value}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
@pytest.mark.parametrize("options", TABLES)
@pytest.mark.parametrize("added", ADDED)
def test_an_added_store_has_the_rows_of_its_table(
    added: str, options: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 1 + seed % 3)
    monkeypatch.setattr("forebay.in_memory.loop.Limits", lambda **_: Limits(commit_interval_ms=0, max_records=2))
    rng = random.Random(seed)
    before, after = changes(rng, 30, 0), changes(rng, 12, 30)
    table = TABLES[options]
    old, new, whole = driver_of(None, **table), driver_of(ADDED[added], **table), driver_of(ADDED[added], **table)
    old.pipe_all(before)
    for record in after:
        new._append(*record, None)
    new.restore(state_of(old))
    whole.pipe_all([*before, *after])
    assert values_of(new) == values_of(whole)
    assert not new.errors
    more = changes(rng, 12, 42)
    # After a restart, no row is sent a second time.
    new.restart(more[:6])
    new.pipe_all(more[6:])
    whole.pipe_all(more)
    assert values_of(new) == values_of(whole)


class Interrupted(Unavailable):
    """The broker did not answer."""


@pytest.mark.parametrize("failing", range(1, 12))
def test_a_failed_commit_sends_no_row_twice(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 2)
    calls = 0

    def group_of(_: str, row: Sale) -> str:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise Interrupted
        return row.group

    def add(_topology: Topology, one: Any, _other: Any) -> Any:
        return one.group_by(group_of, str).count(store="x")

    rng = random.Random(failing)
    before, after = changes(rng, 40, 0), changes(rng, 10, 40)
    old, new, whole = driver_of(None, tasks=1), driver_of(add, tasks=1), driver_of(ADDED["count"], tasks=1)
    old.pipe_all(before)
    for record in after:
        new._append(*record, None)
    with pytest.raises(Interrupted):
        new.restore(state_of(old))
    new.pipe_all([])
    whole.pipe_all([*before, *after])
    assert values_of(new) == values_of(whole)


def test_a_row_that_fails_is_reported_and_the_others_are_sent() -> None:
    def group_of(_: str, row: Sale) -> str:
        if row.amount == 2:
            raise ValueError("no group")
        return row.group

    def add(_topology: Topology, one: Any, _other: Any) -> Any:
        return one.group_by(group_of, str).count(store="x")

    old, new = driver_of(None, tasks=1), driver_of(add, tasks=1)
    old.pipe_all([("one", f"k{number}", Sale("g", number), number) for number in range(5)])
    new.restore(state_of(old))
    assert values_of(new) == {"g": 4}
    assert [(failure.key, failure.headers["error.class"]) for failure in new.errors] == [(b"k2", "ValueError")]


def edited_driver(add: Add | None, old: TestDriver, tasks: int = 1) -> TestDriver:
    """Return the driver of an edited topology with the rows and positions of another driver."""
    new = driver_of(add, tasks)
    new.restore(state_of(old))
    return new


def single(build: Callable[[Topology], Any]) -> TestDriver:
    topology = Topology()
    build(topology)
    return TestDriver(job(NoSettings, lambda _: topology))


def test_rows_of_a_release_that_recorded_nothing_are_not_added_twice() -> None:
    rng = random.Random(3)
    old, whole = driver_of(ADDED["sum"]), driver_of(ADDED["sum"])
    before, after = changes(rng, 30, 0), changes(rng, 30, 30)
    old.pipe_all(before)
    new = driver_of(ADDED["sum"])
    new.restore(without_records(old))
    new.pipe_all(after)
    whole.pipe_all([*before, *after])
    assert values_of(new) == values_of(whole)


@pytest.mark.parametrize("topic", ["one", "other"])
def test_the_rows_of_an_outer_join_are_sent_if_one_of_its_tables_never_had_rows(topic: str) -> None:
    old = driver_of(lambda _, one, other: one.join(other, both, BOTH), tasks=1)
    old.pipe_all([(topic, "k1", Sale("g", 5), 1)])
    new = edited_driver(lambda t, one, other: (one.join(other, both, BOTH), ADDED["outer join"](t, one, other))[1], old)
    assert values_of(new) == {"g": 500 if topic == "one" else 5}
    new.restart()
    new.pipe("k1", Sale("g", 7), topic, 2)
    assert values_of(new) == {"g": 700 if topic == "one" else 7}


def test_a_store_that_was_removed_continues_if_its_table_has_not_changed() -> None:
    old = driver_of(ADDED["sum"])
    old.pipe_all([("one", "k1", Sale("g", 5), 1)])
    again = edited_driver(ADDED["sum"], edited_driver(None, old, tasks=2), tasks=2)
    again.pipe_all([("one", "k1", Sale("g", 7), 2), ("one", "k2", Sale("g", 1), 3)])
    assert values_of(again) == {"g": 8}


def test_a_store_that_missed_changes_of_its_table_is_refused() -> None:
    old = driver_of(ADDED["inner join"], tasks=1)
    old.pipe_all([("one", "k1", Sale("g", 5), 1)])
    for topic in ("one", "other"):
        without = edited_driver(lambda _, one, other: one.join(other, both, BOTH), old)
        without.pipe_all([(topic, "k2", Sale("g", 5), 2)])
        with pytest.raises(StoreChanged, match=r"store x: the table one has changed while .*another name.*reset"):
            edited_driver(ADDED["inner join"], without)


@pytest.mark.parametrize("has_rows", [True, False])
def test_a_store_of_another_table_is_refused(has_rows: bool) -> None:
    def add(first: bool) -> Add:
        def of_one_table(_topology: Topology, one: Any, other: Any) -> Any:
            one.join(other, both, BOTH).to_stream().to("joined")
            return total(one if first else other)

        return of_one_table

    old = driver_of(add(True), tasks=1)
    old.pipe_all([("one", "k1", Sale("g", 5), 1), *([("other", "k1", Sale("g", 6), 1)] if has_rows else [])])
    with pytest.raises(
        StoreChanged, match=r"store x has the rows of the table one, but .* those of other.*another name"
    ):
        edited_driver(add(False), old)


def count_by_window(topology: Topology) -> Any:
    windows = topology.stream("s", int).group_by_key().windowed_by(tumbling(10))
    return windows.count(store="w", retention_ms=1_000)


def with_windows(add: Callable[[Any], Any] | None) -> TestDriver:
    def build(topology: Topology) -> None:
        table = count_by_window(topology)
        table.to_stream().to("w")
        if add is not None:
            add(table).to_stream().to("o")

    return single(build)


def driver_with_added(add: Callable[[Any], Any]) -> TestDriver:
    """Return a driver with an additional operator on windows that have rows already."""
    old, new = with_windows(None), with_windows(add)
    old.pipe_all([("s", "a", 1, 1), ("s", "a", 1, 15)])
    new.restore(state_of(old))
    return new


def test_an_aggregate_of_windows_is_refused_because_they_are_not_in_the_order_of_their_keys() -> None:
    with pytest.raises(StoreChanged, match=r"store x: it was added to the table w, whose rows .*another job.*reset"):
        driver_with_added(lambda table: table.group_by(lambda key, _: key.key, str).count(store="x"))


def test_stores_of_windows_get_later_changes() -> None:
    new = driver_with_added(lambda table: table.filter(lambda _, n: n > 1).materialized("x"))
    new.pipe("a", 1, "s", 16)
    assert [row.value for row in new.store("x").values()] == [2]


def test_added_aggregate_of_final_results_counts_later_results() -> None:
    new = driver_with_added(
        lambda table: (
            table.suppress(UntilWindowCloses(tumbling(10)), store="b")
            .group_by(lambda k, _: k.key, str)
            .count(store="x")
        )
    )
    new.pipe_all([("s", "a", 1, 40), ("s", "a", 1, 60)])
    assert values_of(new) == {"a": 1}


SAME: dict[str, tuple[Add, Add]] = {
    "a store between them is removed": (
        lambda _t, one, _o: total(one.filter(lambda _, row: row.amount > 0).materialized("y")),
        lambda _t, one, _o: total(one.filter(lambda _, row: row.amount > 0)),
    ),
    "the sides of a join are swapped": (
        lambda _t, one, other: sum_of_both(one.join(other, both, BOTH)),
        lambda _t, one, other: sum_of_both(other.join(one, lambda a, b: both(b, a), BOTH)),
    ),
    "the table is filtered twice": (
        lambda _t, one, _o: total(one.filter(lambda _, row: row.amount > 0)),
        lambda _t, one, _o: total(one.filter(lambda _, row: row.amount > 0).filter(lambda _, row: row.amount > 0)),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_an_edit_that_changes_no_row_is_accepted(case: str) -> None:
    rng = random.Random(5)
    before, after = changes(rng, 40, 0), changes(rng, 40, 40)
    old, whole = driver_of(SAME[case][0], tasks=1), driver_of(SAME[case][1], tasks=1)
    old.pipe_all(before)
    edited = edited_driver(SAME[case][1], old)
    edited.restart()
    edited.pipe_all(after)
    whole.pipe_all([*before, *after])
    assert values_of(edited) == values_of(whole)


def without_records(driver: TestDriver) -> dict[Any, Any]:
    """Return what a release left that recorded nothing."""
    return {
        place: ([row for row in rows if not row[0].startswith(FILLED)], position)
        for place, (rows, position) in state_of(driver).items()
    }


@pytest.mark.parametrize("topic", ["one", "other"])
def test_after_an_upgrade_the_rows_of_an_outer_join_are_not_added_twice(topic: str) -> None:
    old, new = driver_of(ADDED["outer join"], tasks=1), driver_of(ADDED["outer join"], tasks=1)
    old.pipe_all([(topic, "k1", Sale("g", 5), 1)])
    new.restore(without_records(old))
    for _ in range(2):
        new.restart()
        assert values_of(new) == values_of(old)


@pytest.mark.parametrize("added", ["inner join", "foreign key"])
def test_changes_of_the_other_table_in_another_sub_topology_are_missed_too(added: str) -> None:
    """Without the join, its two tables are in different sub-topologies."""
    old = driver_of(ADDED[added], tasks=1)
    old.pipe_all([("one", "k1", Sale("g", 5), 1), ("other", "k5", Sale("g", 7), 1)])
    without = edited_driver(None, old)
    without.pipe_all([("other", "k5", Sale("g", 9), 2)])
    with pytest.raises(StoreChanged, match="has changed while the topology did not have this store"):
        edited_driver(ADDED[added], without)


def test_failed_rows_count_as_failed_records_of_all_rows() -> None:
    def group_of(key: str, row: Sale) -> str:
        if key.endswith("7"):
            raise ValueError("no group")
        return row.group

    old = driver_of(None, tasks=1)
    old.pipe_all([("one", f"k{number}", Sale("g", 1), number) for number in range(2_000)])
    new = driver_of(lambda _t, one, _o: one.group_by(group_of, str).count(store="x"), tasks=1)
    new.restore(state_of(old))
    (task,) = (task for task in new.sub_topologies[0].state_tasks)
    # 200 of 2,000 records and 2,000 rows, scaled down to the latest 1,000, of which 1,000 were known before.
    assert (task.position.recent.records, task.position.recent.errors) == (1_000, 200 * 1_000 // 3_000)


def test_a_run_with_end_offsets_is_done_only_when_all_rows_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 2)
    old, new = driver_of(None, tasks=1), driver_of(ADDED["count"], tasks=1)
    old.pipe_all([("one", f"k{number}", Sale("g", 1), number) for number in range(9)])
    loop = new._loop
    monkeypatch.setattr(loop, "run", lambda: None)
    new.restore(state_of(old))
    ends = {topic: (loop.topics.partitions[topic][0].end,) for topic in ("one", "other")}
    lease = replace(loop._lease, number=2, until=ends, close_until=20)
    loop._reader.end_here(True)
    loop._open(lease)
    cycles = 0
    while not loop._group.is_done(lease):
        loop._group.cycle(lease, 0.0)
        cycles += 1
    assert cycles > 4, "two rows are sent in each cycle"
    assert values_of(new) == {"g": 9}


def test_a_second_aggregate_of_the_same_groups_is_refused() -> None:
    def count_twice(table: Any) -> Any:
        groups = table.group_by(lambda _, row: row.group, str)
        groups.count(store="x")
        return groups.count(store="y")

    old = driver_of(ADDED["count"], tasks=1)
    old.pipe_all([("one", "k1", Sale("g", 5), 1)])
    with pytest.raises(StoreChanged, match=r"store y: it was added to groups .*Call group_by\(\) for each"):
        edited_driver(lambda _t, table, _o: count_twice(table), old)
