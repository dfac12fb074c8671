"""A copy of a table with versions has the table's rows, however much older than the newest row they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.builder.notebook_view import NoSettings
from forebay.processor import filling
from forebay.runtime.task.pacing import Limits
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing import TestDriver
from tests.states import state_of

HOUR = 3_600_000
KEYS = [f"k{number}" for number in range(9)]
Build = Callable[[bool], Topology]


def versions(is_added: bool) -> Topology:
    topology = Topology()
    table = topology.table("t", int, store="t")
    table.to_stream().to("rows")
    if is_added:
        table.filter(lambda _, n: n > 0).map_values(lambda _, n: n + 1, int).materialized("x", HOUR)
    return topology


def versions_of_a_versioned_table(is_added: bool) -> Topology:
    topology = Topology()
    table = topology.table("t", int, store="t", history_retention_ms=100 * HOUR)
    table.to_stream().to("rows")
    if is_added:
        table.materialized("x", HOUR)
    return topology


def copy_behind_a_repartition(is_added: bool) -> Topology:
    topology = Topology()
    table = topology.table("t", int, store="t", history_retention_ms=HOUR)
    table.to_stream().to("rows")
    other = topology.table("u", int, store="u")
    other.to_stream().to("others")
    if is_added:
        # Behind this join, t is in another task than u, so the next join reads a copy of t.
        table.join_by_foreign_key(other, lambda _, n: str(n), lambda n, m: n + m, int, store="f").to_stream().to("f")
        table.join(other, lambda n, m: n + m, int).to_stream().to("j")
    return topology


def history(is_added: bool) -> Topology:
    columns = "(k STRING PRIMARY KEY, n BIGINT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
    retention = "WITH (HISTORY_RETENTION='1 HOUR')"
    added = f"CREATE TABLE x {retention} AS SELECT k, n FROM u;" if is_added else ""
    statements = f"CREATE TABLE t {columns} CREATE TABLE u AS SELECT k, n FROM t; {added}"
    return topology_of(program_of(statements, "versions.sql"))


CASES: dict[str, tuple[Build, str]] = {
    "versions": (versions, "x"),
    "versions of a versioned table": (versions_of_a_versioned_table, "x"),
    "copy behind a repartition": (copy_behind_a_repartition, "t-along"),
    "history of a SQL table": (history, "x-history"),
}


def driver_of(build: Build, *, is_added: bool) -> TestDriver:
    topology = build(is_added)
    return TestDriver(job(NoSettings, lambda _: topology), tasks=2)


def send(driver: TestDriver, records: list[tuple[str, Any, int]], *, in_json: bool) -> None:
    for key, value, timestamp in records:
        if in_json:
            driver.pipe_bytes(key.encode(), None if value is None else b'{"n":%d}' % value, timestamp, "t")
        else:
            driver.pipe(key, value, "t", timestamp)


def latest_rows(driver: TestDriver, name: str) -> dict[str, Any]:
    """Return the latest version of each key, in all tasks."""
    rows = {}
    for sub_topology in driver.sub_topologies:
        for store in sub_topology.stores(name):
            assert isinstance(store, VersionedKeyValueStore)
            for key, _, _ in store.history():
                version = store.get(key)
                rows[key] = None if version is None else (version.value, version.timestamp)
    return rows


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", CASES)
def test_an_added_copy_has_the_rows_that_are_older_than_the_retention(
    case: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 1 + seed)
    monkeypatch.setattr("forebay.in_memory.loop.Limits", lambda **_: Limits(commit_interval_ms=0, max_records=2))
    build, store = CASES[case]
    rng = random.Random(seed)
    times = sorted(rng.randrange(50 * HOUR) for _ in KEYS)
    rows: list[tuple[str, Any, int]] = [(key, 1 + number, times[number]) for number, key in enumerate(reversed(KEYS))]
    later: list[tuple[str, Any, int]] = [
        (rng.choice(KEYS), rng.choice((None, 5, 7)), 50 * HOUR + at * HOUR) for at in range(12)
    ]
    in_json = case.startswith("history")
    old, whole, new = (driver_of(build, is_added=is_added) for is_added in (False, True, True))
    send(old, rows, in_json=in_json)
    send(whole, rows, in_json=in_json)
    new.restore(state_of(old))
    assert latest_rows(new, store) == latest_rows(whole, store)
    assert len(latest_rows(new, store)) == len(KEYS)
    send(new, later, in_json=in_json)
    new.restart()
    send(whole, later, in_json=in_json)
    present = [{key: row for key, row in latest_rows(driver, store).items() if row} for driver in (new, whole)]
    assert present[0] == present[1]
    assert not new.late
    assert not whole.late
