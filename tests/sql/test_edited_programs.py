"""An edited program uses the previous program's state by name, or is rejected before it reads a record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.builder import job
from forebay.runtime.errors import StoreChanged
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from tests.states import state_of

SOURCES = """
CREATE STREAM s (k STRING KEY, a STRING, b STRING, v INT, w INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE u (k STRING PRIMARY KEY, x INT, y INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
"""
ROW = {"a": "p", "b": "q", "v": 5, "w": 7}


def driver_of(statements: str) -> TestDriver:
    program = program_of(SOURCES + statements, "edited.sql")
    return TestDriver(job(NoSettings, lambda _: topology_of(program)))


def send(driver: TestDriver, topic: str, row: dict[str, Any]) -> None:
    driver.pipe_bytes(b"x", json.dumps(row).encode(), 1, topic)


def results_of(before: str, after: str) -> dict[str, Any]:
    """Return the last row that the edited program writes to each topic for an additional record."""
    old = driver_of(before)
    if J in before:
        send(old, "u", {"x": 1, "y": 2})
    send(old, "s", ROW)
    send(old, "s", ROW)
    new = driver_of(after)
    new.restore(state_of(old))
    send(new, "s", ROW)
    assert not new.errors
    return {output.topic: output.value for output in new.outputs}


T = "CREATE TABLE t AS SELECT a, SUM(v) AS total, MAX(w) AS most FROM s GROUP BY a;"
N = "CREATE TABLE n AS SELECT b, COUNT(*) AS n FROM s GROUP BY b;"
J = "CREATE STREAM j AS SELECT s.k, s.v, u.x FROM s JOIN u ON s.k = u.k;"

CARRIED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "as it was": (T, T, {"T": (15, 7)}),
    "in another order": (T + N, N + T, {"T": (15, 7), "N": (3,)}),
    "one put in front": (T, N + T, {"T": (15, 7), "N": (1,)}),
    "the first taken out": (T + N, N, {"N": (3,)}),
    "replaced in front": (J + T, N + T, {"T": (15, 7), "N": (1,)}),
    "a table joined in front": (T, J + T, {"T": (15, 7)}),
    "columns renamed": (T, T.replace("total", "sum_of_v"), {"T": (15, 7)}),
    "another filter": (T, T.replace("GROUP", "WHERE v > 3 GROUP"), {"T": (15, 7)}),
    "a result computed from the same": (T, T.replace("MAX(w)", "MAX(w) + 1"), {"T": (15, 8)}),
}


@pytest.mark.parametrize("case", CARRIED)
def test_statements_continue_from_their_state(case: str) -> None:
    before, after, expected = CARRIED[case]
    got = results_of(before, after)
    assert {topic: got[topic] for topic in expected} == expected


REFUSED = {
    "aggregates swapped": T.replace("SUM(v) AS total, MAX(w) AS most", "MAX(w) AS most, SUM(v) AS total"),
    "one aggregate more": T.replace("AS most", "AS most, COUNT(*) AS n"),
    "one aggregate less": T.replace(", MAX(w) AS most", ""),
    "another aggregate": T.replace("SUM(v)", "MIN(v)"),
    "another column": T.replace("SUM(v)", "SUM(w)"),
    "another type": T.replace("SUM(v)", "SUM(CAST(v AS DOUBLE))"),
    "another group": T.replace("SELECT a,", "SELECT b,").replace("BY a", "BY b"),
    "a group more": T.replace("SELECT a,", "SELECT a, b,")
    .replace("BY a", "BY a, b")
    .replace("TABLE t", "TABLE t WITH (KEY_FORMAT='JSON')"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_columns_in_a_store_are_refused_with_both(case: str) -> None:
    with pytest.raises(StoreChanged, match=r"store t holds rows of .*, but is declared with .*another name.*reset"):
        results_of(T, REFUSED[case])


def test_groups_in_another_order_are_refused() -> None:
    both = "CREATE TABLE t WITH (KEY_FORMAT='JSON') AS SELECT a, b, COUNT(*) AS n FROM s GROUP BY a, b;"
    with pytest.raises(StoreChanged, match=r"store t holds rows of group S\.A STRING; group S\.B STRING"):
        results_of(both, both.replace("a, b", "b, a"))


def test_state_of_a_release_that_recorded_no_columns_is_taken_as_declared() -> None:
    old = driver_of(T)
    send(old, "s", ROW)
    left = {
        task.place: ([row for row in task.table.scan(b"") if not row[0].startswith(b"\x01layout")], task.position)
        for sub_topology in old.sub_topologies
        for task in sub_topology.state_tasks
    }
    new = driver_of(T)
    new.restore(left)
    send(new, "s", ROW)
    assert [output.value for output in new.outputs] == [(10, 7)]
