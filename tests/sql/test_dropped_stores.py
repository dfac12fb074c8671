"""In an engine, the rows of a query's stores are deleted once the query was dropped or terminated. No others are."""

from __future__ import annotations

import json

import pytest

from forebay.sql.program import program_of
from forebay.sql.service import ENGINE, job_of
from forebay.sql.statements import parse
from forebay.sql.store_names import has_ended
from forebay.stores.internal import FILLED, FILLED_TOPIC, KINDS, PARKED, TIMERS, timer_of
from forebay.stores.materialized import store_of
from forebay.testing import TestDriver
from tests.interruptions import kill_at_commit
from tests.states import state_of

SOURCES = """
CREATE STREAM s (k STRING KEY, a STRING, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, a STRING, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE o (a STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');
CREATE TABLE x_other AS SELECT k, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
CREATE TABLE of_t AS SELECT a, COUNT(*) AS c FROM t GROUP BY a;
CREATE TABLE of_o AS SELECT v, COUNT(*) AS c FROM o GROUP BY v;
"""
QUERIES = {
    "a window": "CREATE TABLE x AS SELECT k, SUM(v) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;",
    "sessions": "CREATE TABLE x AS SELECT a, SUM(v) AS n FROM s WINDOW SESSION (5 SECONDS) GROUP BY a;",
    "final results": "CREATE TABLE x AS SELECT k, SUM(v) AS n FROM s WINDOW TUMBLING (SIZE 9 SECONDS) GROUP BY k "
    "EMIT FINAL;",
    "groups of a table": "CREATE TABLE x AS SELECT v, COUNT(*) AS n FROM t GROUP BY v;",
    "a join by a foreign key": "CREATE TABLE x AS SELECT t.k, o.v AS n FROM t JOIN o ON t.a = o.a;",
    "a join of streams": "CREATE STREAM x AS SELECT l.k, r.v AS n FROM s l JOIN s r WITHIN 5 SECONDS ON l.k = r.k;",
}
ENDS = {
    "dropped": "DROP {kind} x;",
    "created again": "DROP {kind} x; {query}",
    "created again and dropped": "DROP {kind} x; {query} DROP {kind} x;",
}


@pytest.fixture(autouse=True)
def _in_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENGINE, "shop")


def driver_of(statements: str) -> TestDriver:
    return TestDriver(job_of(parse(SOURCES + statements, "edited.sql")), tasks=2)


def send(driver: TestDriver, begin: int) -> None:
    for at in range(begin, begin + 30):
        row = {"a": f"a{at % 3}", "v": at % 4}
        for topic in ("s", "t"):
            driver.pipe_bytes(b"k%d" % (at % 5), json.dumps(row).encode(), at * 1_000, topic)
        driver.pipe_bytes(b"a%d" % (at % 3), json.dumps({"v": at}).encode(), at * 1_000, "o")


def stores_with_rows(driver: TestDriver) -> set[str]:
    """Return the stores of which a task has rows, marks, timers or a declaration, or that are recorded as filled."""
    names = set()
    for rows, _ in state_of(driver).values():
        for key, value in rows:
            row = key[len(PARKED) :].partition(b"\0")[2] if key.startswith(PARKED) else key
            names.add(row[len(KINDS) :] if row.startswith(KINDS) else store_of(row))
            if row.startswith(TIMERS):
                names.add(timer_of(row)[0].partition(": ")[2].encode())
            if row.startswith(FILLED) and value:
                names |= {row[len(FILLED) :], *(name.encode() for name in json.loads(value))}
    return {name for name in map(bytes.decode, names) if name and not name.startswith(("driven-", FILLED_TOPIC))}


def of_x(names: set[str], number: str = "") -> set[str]:
    return {name for name in names if name == f"x{number}" or name.startswith(f"x{number}-")} - {"x-other"}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("query", QUERIES)
def test_a_dropped_query_leaves_no_rows(query: str, end: str) -> None:
    text = QUERIES[query]
    ending = ENDS[end].format(kind="STREAM" if "STREAM x" in text else "TABLE", query=text)
    old, new, others = driver_of(text), driver_of(text + ending), driver_of("")
    send(old, 0)
    before = stores_with_rows(old)
    assert of_x(before)
    new.restore(state_of(old))
    after = stores_with_rows(new)
    assert not of_x(after)
    assert after >= before - of_x(before), "the rows of other stores stay"
    send(others, 0)
    send(new, 30)
    send(others, 30)
    assert list(new.store("x-other")) == list(others.store("x-other"))
    assert dict(new.store("of-t").items()) == dict(others.store("of-t").items())
    assert bool(of_x(stores_with_rows(new), ".2")) is (end == "created again")
    assert not new.errors


def test_the_job_of_a_file_keeps_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENGINE)
    text = QUERIES["a window"]
    old, new = driver_of(text), driver_of(text + "DROP TABLE x;")
    send(old, 0)
    new.restore(state_of(old))
    assert of_x(stores_with_rows(new))


def test_an_interrupted_deletion_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.runtime.task.ended_stores._MOST", 1)
    text = QUERIES["a window"]
    old, new = driver_of(text), driver_of(text + "DROP TABLE x;")
    send(old, 0)
    with kill_at_commit(3):
        new.restore(state_of(old))
    new.restart()
    assert not of_x(stores_with_rows(new))


X = QUERIES["a window"]


@pytest.mark.parametrize(
    ("statements", "store", "is_ended"),
    [
        (X, "x", False),
        (X + "DROP TABLE x;", "x", True),
        (X + "DROP TABLE x;", "x-join-subscriptions", True),
        (X + "DROP TABLE x;", "x-other", False),
        (X + "DROP TABLE x;", "x-other-history", False),
        (X + "DROP TABLE x;", "xy", False),
        (X + "DROP TABLE x;", "of-t", False),
        (X + "DROP TABLE x;" + X, "x", True),
        (X + "DROP TABLE x;" + X, "x.2", False),
        (X + "DROP TABLE x;" + X + "DROP TABLE x;", "x.2", True),
        (X + "DROP TABLE x; CREATE TABLE x (k STRING PRIMARY KEY) WITH (KAFKA_TOPIC='x', FORMAT='JSON');", "x", True),
        # The rows of a declared table, which can be declared again.
        (X + "DROP TABLE x;", "x-table", False),
        (X + "TERMINATE CTAS_X_3;", "x", True),
        (X + "TERMINATE CTAS_X_3;", "x-table", False),
        (X + "DROP TABLE x; DROP STREAM s2;", "s2-table", False),
        (
            X + "DROP TABLE x; CREATE TABLE x_o (k STRING PRIMARY KEY) WITH (KAFKA_TOPIC='o', FORMAT='JSON');"
            "DROP TABLE x_o;",
            "x-o-table",
            False,
        ),
        (
            X + "CREATE TABLE x_y AS SELECT a, COUNT(*) AS c FROM s GROUP BY a; PAUSE CTAS_X_Y_4; DROP TABLE x;",
            "x-y",
            False,
        ),
        (
            X
            + "CREATE OR REPLACE TABLE x AS SELECT k, SUM(v) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;",
            "x",
            False,
        ),
        ("INSERT INTO s SELECT k, a, v FROM s2 PARTITION BY k;", "insert-s", False),
        ("INSERT INTO s SELECT k, a, v FROM s2 PARTITION BY k; TERMINATE INSERTQUERY_3;", "insert-s", True),
        (
            "INSERT INTO s SELECT k, a, v FROM s2 PARTITION BY k; INSERT INTO s SELECT k, a, v FROM s2;"
            "TERMINATE INSERTQUERY_3;",
            "insert-s",
            False,
        ),
    ],
)
def test_only_stores_of_ended_queries_have_ended(statements: str, store: str, is_ended: bool) -> None:
    other = "CREATE STREAM s2 (k STRING KEY, a STRING, v INT) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');"
    ended = has_ended(program_of(SOURCES + other + statements, "edited.sql"))
    assert (ended is not None and ended(store)) is is_ended
