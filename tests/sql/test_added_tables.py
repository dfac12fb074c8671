"""A table that is created over a table with rows writes these rows to its topic, and then their changes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from forebay.builder import job
from forebay.processor import filling
from forebay.runtime.errors import StoreChanged
from forebay.runtime.task.pacing import Limits
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.stores.internal import FILLED
from forebay.testing import TestDriver
from tests.states import state_of

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
def test_topic_of_an_added_table_has_the_rows_of_its_query(query: str, key: str) -> None:
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


def values_of(topic: str, key: str, value: int | None, timestamp: int = 1) -> Sent:
    return topic, key.encode(), None if value is None else json.dumps({"n": value}).encode(), timestamp


def edit(old: TestDriver, added: str, waiting: list[Sent] | None = None) -> TestDriver:
    """Return an edited program with the state of the earlier one and its outputs."""
    new = driver_of("STRING", added)
    new.outputs += old.outputs
    begin(new, state_of(old), waiting or [])
    return new


ROWS = [values_of(topic, key, 41) for key in "abcdefghi" for topic in "to"]
DELETED = [values_of("t", key, None, 3) for key in "ghi"]


def test_a_table_that_is_created_again_writes_all_rows_again() -> None:
    first, whole = driver_of("STRING", QUERIES["some rows"]), driver_of("STRING", QUERIES["some rows"])
    changed = [values_of("t", "a", 57, 2)]
    send(ROWS, first)
    gone = edit(first, "")
    send(changed, gone)
    # Deletions are passed on although their rows were not sent again, because the topic has them from earlier.
    again = edit(gone, QUERIES["some rows"], DELETED)
    send(ROWS + changed + DELETED, whole)
    assert rows_of(again) == rows_of(whole)
    assert len(rows_of(whole)) == 6


def test_the_sides_of_a_join_may_be_swapped() -> None:
    first = driver_of("STRING", QUERIES["a join"])
    send(ROWS, first)
    swapped = QUERIES["a join"].replace("t JOIN o ON t.k = o.k", "o JOIN t ON o.k = t.k")
    new = edit(first, swapped, DELETED)
    assert len(rows_of(new)) == 6
    assert len(new.outputs) - len(first.outputs) < 15, "its rows are not sent again"


def test_a_table_may_read_another_table_and_the_first_one_again() -> None:
    of_o = "CREATE TABLE x AS SELECT k, n FROM o;"
    first = driver_of("STRING", of_o)
    send([values_of("t", "a", 31), values_of("o", "a", 55)], first)
    of_t = edit(first, QUERIES["rows"])
    assert list(rows_of(of_t).values()) == [(31,)]
    again = edit(of_t, of_o)
    assert list(rows_of(again).values()) == [(55,)]


def test_changes_of_one_side_of_a_removed_join_are_noticed() -> None:
    def program(added: str) -> TestDriver:
        declared = TABLES.format(key="STRING") + "CREATE TABLE own AS SELECT k, n FROM o;"
        return TestDriver(job(NoSettings, lambda _: topology_of(program_of(declared + added, "edited.sql"))), tasks=2)

    join = "CREATE STREAM u (k STRING KEY) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');" + QUERIES["a join"]
    first = program(join)
    send(ROWS, first)
    gone = program("")
    begin(gone, state_of(first), [values_of("o", "c", 58, 2)])
    with pytest.raises(StoreChanged, match="store x: the table t-table has changed while"):
        begin(program(join), state_of(gone), [])


def test_a_topic_that_missed_changes_of_a_table_without_rows_is_complete() -> None:
    first = driver_of("STRING", QUERIES["rows"])
    send([values_of("t", key, 41) for key in "abc"], first)
    gone = edit(first, "")
    send([values_of("t", key, None, 2) for key in "abc"], gone)
    again = edit(gone, QUERIES["rows"])
    send([values_of("t", key, 42, 3) for key in "abcdef"], again)
    written = len(again.outputs)
    again.restart()
    assert len(again.outputs) == written


def test_two_tables_may_write_to_one_topic() -> None:
    other = "CREATE TABLE y WITH (KAFKA_TOPIC='X') AS SELECT k, n + 100 AS n FROM t WHERE n < 40;"
    first = driver_of("STRING", "CREATE TABLE x AS SELECT k, n FROM t WHERE n > 40;")
    send([values_of("t", "a", 31), values_of("t", "b", 55)], first)
    new = edit(first, "CREATE TABLE x AS SELECT k, n FROM t WHERE n > 40;" + other)
    assert sorted(rows_of(new).values()) == [(55,), (131,)]


def test_topics_are_refilled_if_an_earlier_build_did_not_record_them() -> None:
    """The topic and the copies of a join then have earlier rows. Deletions are passed on to them."""
    of_join = QUERIES["a join of other keys"]
    first = driver_of("STRING", of_join)
    send(ROWS, first)
    state = {
        place: ([(key, b"{}" if key.startswith(FILLED) else row) for key, row in rows], position)
        for place, (rows, position) in state_of(first).items()
    }
    new = driver_of("STRING", of_join)
    new.outputs += first.outputs
    begin(new, state, DELETED)
    whole = driver_of("STRING", of_join)
    send(ROWS + DELETED, whole)
    assert rows_of(new) == rows_of(whole)


def test_tables_not_recorded_by_an_earlier_release_are_not_written_again() -> None:
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


@pytest.mark.parametrize(("former", "later"), [("n > 0", "n > 50"), ("n > 50", "n > 0")])
def test_copies_of_a_table_that_is_created_again_have_its_rows(former: str, later: str) -> None:
    results = """
        CREATE TABLE x1 WITH (KEY_FORMAT='KAFKA') AS SELECT k, n FROM own WHERE {};
        CREATE TABLE x3 AS SELECT t.k AS k, t.n AS n, x1.n AS m FROM t LEFT JOIN x1 ON t.k = x1.k;
        CREATE TABLE x AS SELECT ROWKEY, x1.n AS n, j.n AS m FROM x1 FULL OUTER JOIN j ON x1.k = j.k;
    """
    drop = "DROP TABLE x; DROP TABLE x3; DROP TABLE x1;"
    first, whole = driver_of("STRING", results.format(former)), driver_of("STRING", results.format(later))
    send(ROWS, first, whole)
    new = driver_of("STRING", results.format(former) + drop + results.format(later))
    begin(new, state_of(first), [])
    assert rows_of(new) == rows_of(whole) != {}
