"""A table that is created over a table with rows writes these rows to its topic, and then their changes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from forebay.builder import job
from forebay.processor import filling
from forebay.runtime.task.pacing import Limits
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.stores.internal import FILLED
from forebay.testing import TestDriver

OTHER = "CREATE TABLE o (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');"
TABLES = OTHER + "CREATE TABLE t (k {key} PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
USED = """
CREATE TABLE used AS SELECT n, COUNT(*) AS c FROM t GROUP BY n;
CREATE TABLE own AS SELECT k, n FROM o;
CREATE TABLE j WITH (KEY_FORMAT='JSON') AS SELECT k, n FROM t;
"""
QUERIES = {
    "rows": "CREATE TABLE x AS SELECT * FROM t;",
    "some rows": "CREATE TABLE x AS SELECT k, n * 2 AS n FROM t WHERE n > 40;",
    "rows of an aggregate": "CREATE TABLE x AS SELECT n, c FROM used WHERE c > 0;",
    "a join": "CREATE TABLE x AS SELECT t.k, t.n AS n, o.n AS m FROM t JOIN o ON t.k = o.k;",
    "other keys": "CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT k, n FROM t;",
    "a join of other keys": "CREATE TABLE x AS SELECT o.k, o.n AS n, j.n AS m FROM o LEFT JOIN j ON o.k = j.k;",
    "an outer join": "CREATE TABLE x AS SELECT ROWKEY, t.n AS n, o.n AS m FROM t FULL OUTER JOIN o ON t.k = o.k;",
}
KEYS = {
    "STRING": [name.encode() for name in "abcdefghi"],
    "INT": [number.to_bytes(4, signed=True) for number in (-30, -4, -1, 0, 3, 5, 20, 100, 2000)],
}


def driver_of(key: str, added: str = "") -> TestDriver:
    program = program_of(TABLES.format(key=key) + USED + added, "edited.sql")
    return TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=2)


Sent = tuple[str, bytes, bytes | None, int]


def state_of(driver: TestDriver) -> dict[Any, Any]:
    return {
        task.place: (list(task.table.scan(b"")), task.position)
        for sub_topology in driver.sub_topologies
        for task in sub_topology.state_tasks
    }


def changes(rng: random.Random, key: str, count: int, begin: int = 1) -> list[Sent]:
    def value() -> bytes | None:
        return None if rng.random() < 0.3 else json.dumps({"n": rng.randrange(30, 60)}).encode()

    # The keys of o are strings.
    return [
        (topic, rng.choice(KEYS[key if topic == "t" else "STRING"]), value(), begin + at)
        for at in range(count)
        for topic in rng.choice("to")
    ]


def send(records: list[Sent], *drivers: TestDriver) -> None:
    for topic, key, value, timestamp in records:
        for driver in drivers:
            driver.pipe_bytes(key, value, timestamp, topic)


def rows_of(driver: TestDriver, topic: str = "X") -> dict[Any, Any]:
    """Return the rows that a reader of a topic has after all its records."""
    rows = {output.key: output.value for output in driver.outputs if output.topic == topic}
    return {key: value for key, value in rows.items() if value is not None}


def begin(driver: TestDriver, state: dict[Any, Any], records: list[Sent]) -> None:
    """Start a program from a state, while records wait."""
    for topic, key, value, timestamp in records:
        driver._put(topic, key, value, timestamp, None)
    driver.restore(state)


@pytest.fixture(autouse=True)
def small_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_ROWS", 2)
    monkeypatch.setattr("forebay.in_memory.loop.Limits", lambda **_: Limits(commit_interval_ms=0, max_records=2))


@pytest.mark.parametrize(
    ("query", "key"), [(name, key) for name in QUERIES for key in KEYS if key == "STRING" or "join" not in name]
)
def test_its_topic_has_the_rows_of_its_query(query: str, key: str) -> None:
    added = QUERIES[query]
    sizes = set()
    for seed in (0, 5, 12):
        rng = random.Random(seed)
        before, after = changes(rng, key, 30), changes(rng, key, seed, 31)
        old, new, whole = driver_of(key), driver_of(key, added), driver_of(key, added)
        send(before, old, whole)
        begin(new, state_of(old), after)
        send(after, whole)
        assert rows_of(new) == rows_of(whole), seed
        assert not new.errors
        written = [output for output in new.outputs if output.topic == "X"]
        new.restart()
        assert [output for output in new.outputs if output.topic == "X"] == written, "no row is sent a second time"
        sizes.add(len(rows_of(whole)))
    assert max(sizes) > 1


def test_a_table_that_is_created_again_writes_its_rows_again() -> None:
    rng = random.Random(3)
    first, gone = driver_of("STRING", QUERIES["some rows"]), driver_of("STRING")
    send(changes(rng, "STRING", 30), first)
    begin(gone, state_of(first), [])
    again = driver_of("STRING", QUERIES["some rows"])
    begin(again, state_of(gone), [])
    assert not rows_of(again), "its topic missed nothing"

    send(changes(rng, "STRING", 30, 31), gone)
    again, whole = driver_of("STRING", QUERIES["some rows"]), driver_of("STRING", QUERIES["some rows"])
    begin(again, state_of(gone), [])
    rng = random.Random(3)
    send(changes(rng, "STRING", 30) + changes(rng, "STRING", 30, 31), whole)
    assert rows_of(again) == rows_of(whole)
    assert rows_of(whole)


def test_a_table_may_read_another_table_than_before() -> None:
    records = changes(random.Random(5), "STRING", 30)
    first, whole = driver_of("STRING", "CREATE TABLE x AS SELECT k, n FROM o;"), driver_of("STRING", QUERIES["rows"])
    send(records, first, whole)
    edited = driver_of("STRING", QUERIES["rows"])
    begin(edited, state_of(first), [])
    assert rows_of(edited) == rows_of(whole) != {}


def test_state_of_a_release_that_did_not_record_tables_counts_as_written() -> None:
    first, later = driver_of("STRING", QUERIES["rows"]), driver_of("STRING", QUERIES["rows"])
    send(changes(random.Random(1), "STRING", 30), first)
    state = {
        place: ([row for row in rows if not row[0].startswith(FILLED)], position)
        for place, (rows, position) in state_of(first).items()
    }
    begin(later, state, [])
    assert not later.outputs


def test_the_history_of_an_added_table_begins_with_its_rows() -> None:
    added = "CREATE TABLE x WITH (HISTORY_RETENTION='7 DAYS') AS SELECT k, n FROM t;"
    rng = random.Random(8)
    records = changes(rng, "STRING", 30)
    old, new, whole = driver_of("STRING"), driver_of("STRING", added), driver_of("STRING", added)
    send(records, old, whole)
    begin(new, state_of(old), [])

    def latest(driver: TestDriver) -> dict[Any, Any]:
        return {key: versions[-1] for key, versions in driver.store("x-history").items() if versions[-1][0] is not None}

    assert latest(new) == latest(whole) != {}
