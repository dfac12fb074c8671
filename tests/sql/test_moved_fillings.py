"""An aggregate behind a table never gets a row twice, even if other statements change where it reads the table."""

from __future__ import annotations

import json

import pytest

from forebay.runtime.errors import StoreChanged
from forebay.sql.service import job_of
from forebay.sql.statements import parse
from forebay.testing import TestDriver
from tests.interruptions import kill_at_commit
from tests.states import state_of

TABLES = """
CREATE TABLE t (k STRING PRIMARY KEY, n INT, s STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE o (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');
"""
# Behind this join, t is in another task than o, so the next join reads a copy of t.
FOREIGN = "CREATE TABLE x0 AS SELECT a.k AS k, a.n AS n, b.n AS m FROM t a JOIN o b ON a.s = b.k;"
JOIN = "CREATE TABLE x1 AS SELECT a.k AS k, a.n AS n, b.n AS m FROM t a JOIN o b ON a.k = b.k;"
COUNT = "CREATE TABLE x2 AS SELECT n, COUNT(*) AS c, SUM(m) AS total FROM x1 GROUP BY n;"


def driver_of(statements: str, tasks: int) -> TestDriver:
    return TestDriver(job_of(parse(TABLES + statements, "edited.sql")), tasks=tasks)


def send(driver: TestDriver, key: bytes, topic: str, time: int) -> None:
    driver.pipe_bytes(key, json.dumps({"n": 7, "s": "a"}).encode(), time, topic)


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FOREIGN + JOIN + COUNT, FOREIGN + JOIN + COUNT + "DROP TABLE x0;"),
        (FOREIGN + JOIN + COUNT, JOIN + COUNT),
        (FOREIGN + JOIN + COUNT, JOIN + COUNT + FOREIGN),
        (JOIN + COUNT, JOIN + COUNT + FOREIGN),
    ],
)
def test_counts_continue_after_statements_are_moved(before: str, after: str, tasks: int) -> None:
    old, new = driver_of(before, tasks), driver_of(after, tasks)
    for number, key in enumerate((b"a", b"b", b"c")):
        send(old, key, "t", number)
        send(old, key, "o", number)
    new.restore(state_of(old))
    again = driver_of(after, tasks)
    again.restore(state_of(new))
    for driver in (new, again):
        driver.pipe_bytes(b"a", None, 10, "t")
        send(driver, b"d", "t", 11)
        send(driver, b"d", "o", 12)
        driver.pipe_bytes(b"b", None, 13, "t")
        assert [row.value for row in dict(driver.store("x2").items()).values()] == [(2, 14)]
        assert not driver.errors


@pytest.mark.parametrize("commit", [1, 2])
def test_a_kill_while_the_record_moves_changes_no_count(commit: int) -> None:
    old, new = driver_of(FOREIGN + JOIN + COUNT, 2), driver_of(JOIN + COUNT, 2)
    for number, key in enumerate((b"a", b"b", b"c")):
        send(old, key, "t", number)
        send(old, key, "o", number)
    with kill_at_commit(commit):
        new.restore(state_of(old))
    new.restart()
    new.pipe_bytes(b"a", None, 10, "t")
    assert [row.value for row in dict(new.store("x2").items()).values()] == [(2, 14)]
    assert not new.errors


@pytest.mark.parametrize("before", [JOIN + COUNT, JOIN + COUNT + FOREIGN])
def test_a_statement_that_moves_an_aggregate_behind_a_copy_is_refused(before: str) -> None:
    old, new = driver_of(before, 1), driver_of(FOREIGN + JOIN + COUNT, 1)
    send(old, b"a", "t", 1)
    send(old, b"a", "o", 1)
    with pytest.raises(StoreChanged, match=r"store x2 has the rows of t-table, .* Add new statements after the others"):
        new.restore(state_of(old))
