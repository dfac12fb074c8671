"""Aggregates of tables subtract former rows, so a store is refused if an edit computes its former rows differently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.builder import job
from forebay.runtime.errors import FormatChanged, StoreChanged
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from tests.sql.driven import Driven
from tests.states import state_of
from tests.unread import carry_unread

TABLES = "".join(
    f"CREATE TABLE {name} (k {key} PRIMARY KEY, x INT, y INT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');\n"
    for name, key in (("u", "STRING"), ("v", "STRING"), ("w", "INT"))
)
STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING KEY, a STRING) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');\n"
    for name in ("p", "q", "r")
)


def driver_of(statements: str) -> TestDriver:
    program = program_of(TABLES + STREAMS + statements, "edited.sql")
    return TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=1)


def send(driver: TestDriver, *records: tuple[str, str, dict[str, Any]]) -> None:
    for topic, key, row in records:
        if topic in driver._loop.topics.partitions:
            driver.pipe_bytes(key.encode(), json.dumps(row).encode(), 1, topic)
    assert not driver.errors


ROWS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("v", "a", {"x": 1, "y": 9}),
    ("u", "a", {"x": 1, "y": 3}),
    ("u", "b", {"x": 1, "y": 9}),
    *((name, "a", {"a": "a"}) for name in ("p", "q", "r", "p")),
)


def carry(before: str, after: str) -> TestDriver:
    """Return an edited program with the state of the earlier one, which has read all rows."""
    old, new = driver_of(before), driver_of(after)
    send(old, *ROWS)
    assert old.outputs
    new.restore(state_of(old))
    return new


def total(of: str, *earlier: str, by: str = "x", what: str = "SUM(y)") -> str:
    return f"{' '.join(earlier)} CREATE TABLE t AS SELECT {by}, {what} AS n FROM {of} GROUP BY {by};"


def table(select: str) -> str:
    return f"CREATE TABLE m AS SELECT {select};"


COUNTS = "k, COUNT(*) AS x FROM p GROUP BY k HAVING COUNT(*) > {};"
JOINED = "u.k AS k, u.x AS x, {} AS y FROM u {} JOIN v ON u.k = v.k"
FOREIGN = "CREATE TABLE j AS SELECT m.k AS k, w.y AS y FROM m LEFT JOIN w ON m.z = w.k;"
REFUSED = {
    "another WHERE": (total("u WHERE y > 2"), total("u WHERE y > 5")),
    "a WHERE more": (total("u"), total("u WHERE y > 5")),
    "a WHERE less": (total("u WHERE y > 2"), total("u")),
    "a table instead of a view": (
        total("u WHERE NOT y > 2 OR TRUE").replace("CREATE TABLE", "CREATE MATERIALIZED VIEW"),
        total("u WHERE NOT y > 2 OR TRUE"),
    ),
    "another expression of a table before": (
        total("m", table("k, x, y * 2 AS y FROM u")), total("m", table("k, x, y * 3 AS y FROM u")),
    ),
    "another expression two tables before": (
        total("o", table("k, x, y * 2 AS y FROM u"), "CREATE TABLE o AS SELECT k, x, y FROM m;"),
        total("o", table("k, x, y * 3 AS y FROM u"), "CREATE TABLE o AS SELECT k, x, y FROM m;"),
    ),
    "another WHERE of a table before": (
        total("m", table("k, x, y FROM u WHERE y > 2")), total("m", table("k, x, y FROM u WHERE y > 5")),
    ),
    "another HAVING of a table before": (
        total("m", table(COUNTS.format(1)), what="COUNT(*)"), total("m", table(COUNTS.format(0)), what="COUNT(*)"),
    ),
    "another kind of join": (
        total("m", table(JOINED.format("v.y", ""))), total("m", table(JOINED.format("v.y", "LEFT"))),
    ),
    "a column of the other side of a join": (
        total("m", table(JOINED.format("v.y", ""))), total("m", table(JOINED.format("u.y", ""))),
    ),
    "another expression before a side of a join": (
        total("u JOIN m ON u.k = m.k", table("k, x AS z, y * 2 AS q FROM v"), what="SUM(q)"),
        total("u JOIN m ON u.k = m.k", table("k, x AS z, y * 3 AS q FROM v"), what="SUM(q)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_changed_former_rows_are_refused_with_both_descriptions(case: str) -> None:
    with pytest.raises(StoreChanged, match=r"store t holds rows of .*, but is declared with .*reset") as refusal:
        carry(*REFUSED[case])
    assert ", computed from " in str(refusal.value)
    assert "or give its result another name, which begins with the present rows of its table" in str(refusal.value)


@pytest.mark.parametrize("case", REFUSED)
def test_edited_aggregate_under_a_new_name_has_the_rows_of_its_table(case: str) -> None:
    after = REFUSED[case][1].replace("TABLE t AS", "TABLE another AS").replace("VIEW t AS", "VIEW another AS")
    edited, whole = carry(REFUSED[case][0], after), driver_of(after)
    send(whole, *ROWS)
    later = ("u", "a", {"x": 2, "y": 8}), ("v", "a", {"x": 1, "y": 7}), ("p", "b", {"a": "a"})
    for driver in (edited, whole):
        send(driver, *later)
    assert edited.store("another") == whole.store("another")


@pytest.mark.parametrize("case", REFUSED)
def test_unread_changes_of_other_former_rows_are_refused(case: str) -> None:
    before, after = (Driven(TABLES + STREAMS + text, tasks=1) for text in REFUSED[case])
    for topic, key, row in ROWS:
        if topic in before.driver._loop.topics.partitions:
            before.send(topic, key, row)
    with pytest.raises(FormatChanged, match=r"-repartition-0 holds .* would be misread"):
        carry_unread(before.driver, after.driver)


def test_another_expression_before_a_foreign_key_is_refused() -> None:
    before, after = (table(f"k, x * {factor} AS z FROM u") + FOREIGN for factor in (2, 3))
    with pytest.raises(StoreChanged, match="j-join-subscriptions holds keys in the format values of Z of rows with"):
        carry(before, after)


CARRIED = {
    "as it was": (total("u WHERE y > 2"), total("u WHERE y > 2"), 18),
    "another name of the source": (
        total("m", table("k, x, y * 2 AS y FROM u")), total("m", table("c.k, c.x, c.y * 2 AS y FROM u AS c")), 36,
    ),
    "a column more that is not aggregated": (
        total("m", table("k, x, y FROM u")), total("m", table("k, x, y, y * 5 AS z FROM u")), 18,
    ),
    "another expression of a column that is not aggregated": (
        total("m", table("k, x, y, y * 2 AS z FROM u")), total("m", table("k, x, y, y * 5 AS z FROM u")), 18,
    ),
    "another HAVING of the aggregate itself": (total("u"), total("u").replace(";", " HAVING SUM(y) > 0;"), 18),
    "another table between them": (
        total("m", table("k, x, y FROM u")),
        total("m", "CREATE TABLE o AS SELECT k, y FROM u;", table("k, x, y FROM u")),
        18,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CARRIED)
def test_edits_that_compute_the_same_former_rows_keep_the_state(case: str) -> None:
    before, after, expected = CARRIED[case]
    new = carry(before, after)
    send(new, ("u", "a", {"x": 1, "y": 9}))
    assert [output.value for output in new.outputs if output.topic == "T"] == [(expected,)]


def test_a_stream_that_is_aggregated_may_have_another_condition() -> None:
    counts = "CREATE TABLE t AS SELECT a, COUNT(*) AS n FROM p {} GROUP BY a;"
    new = carry(counts.format(""), counts.format("WHERE k = 'a'"))
    send(new, ("p", "a", {"a": "a"}))
    assert [output.value for output in new.outputs] == [(3,)]


def test_repeated_self_joins_have_a_short_description() -> None:
    steps = "".join(
        f"CREATE TABLE m{n} AS SELECT a.k AS k, a.x + b.x AS x FROM {f'm{n - 1}' if n else 'u'} a "
        f"JOIN {f'm{n - 1}' if n else 'u'} b ON a.k = b.k;"
        for n in range(9)
    )
    with pytest.raises(StoreChanged, match=r"store t holds") as refused:
        carry(steps + total("m8", what="COUNT(*)"), steps.replace("+", "-", 1) + total("m8", what="COUNT(*)"))
    assert len(str(refused.value)) < 3_000


DAY_MS = 86_400_000
DAYS = "FORMAT_TIMESTAMP(FROM_UNIXTIME(ROWTIME), 'DDD')"
TIMED = {
    "of a declared table": "SELECT x, SUM(ROWTIME) AS n FROM u GROUP BY x",
    "of rows with a condition": f"SELECT x, SUM(ROWTIME) AS n FROM u WHERE ROWTIME < {5 * DAY_MS} GROUP BY x",
    "of a table before": "SELECT x, SUM(ROWTIME) AS n FROM m GROUP BY x",
    "of a join": "SELECT u.x AS x, SUM(u.ROWTIME) AS n FROM u LEFT JOIN v ON u.k = v.k GROUP BY u.x",
    "of a joined table": "SELECT x, SUM(ROWTIME) AS n FROM j GROUP BY x",
    "of a join by a foreign key": "SELECT x, SUM(ROWTIME) AS n FROM f GROUP BY x",
    "of an aggregated table": "SELECT x, SUM(ROWTIME) AS n FROM a GROUP BY x",
    "of an aggregated stream": "SELECT n AS x, SUM(ROWTIME) AS n FROM c GROUP BY n",
}
BEFORE = (
    "CREATE TABLE m AS SELECT k, x, y + 1 AS y FROM u WHERE y > 0;"
    "CREATE TABLE j AS SELECT u.k AS k, u.x AS x FROM u LEFT JOIN v ON u.k = v.k;"
    "CREATE TABLE f AS SELECT u.k AS k, u.x AS x FROM u LEFT JOIN w ON u.x = w.k;"
    "CREATE TABLE a AS SELECT y, CAST(COUNT(*) AS INT) * 0 + 1 AS x FROM u WHERE y = 1 GROUP BY y;"
    "CREATE TABLE c AS SELECT k, CAST(COUNT(*) AS INT) * 0 + 1 AS n FROM p GROUP BY k;"
)


@pytest.mark.parametrize("case", TIMED)
def test_the_time_of_a_former_row_is_subtracted(case: str) -> None:
    driven = Driven(TABLES + STREAMS + BEFORE + f"CREATE TABLE t AS {TIMED[case]};", tasks=1)
    sums = []
    for at in (1, 3, 4):
        for topic, row in (("u", {"x": 1, "y": 1}), ("p", {"a": "a"})):
            if topic in driven.driver._loop.topics.partitions:
                driven.send(topic, "a", row, at * DAY_MS)
                sums += [output.value[0] // DAY_MS for output in driven.sent if output.topic == "T"]
    assert sums == [1, 3, 4]


def test_rows_are_counted_by_the_day_of_their_last_change() -> None:
    driven = Driven(TABLES + f"CREATE TABLE t AS SELECT {DAYS} AS day, COUNT(*) AS n FROM u GROUP BY {DAYS};", tasks=1)
    days = [driven.send("u", key, {"x": 1}, at * DAY_MS) for at, key in enumerate("aba")]
    assert [(key, value) for results in days for key, value, _ in results] == [
        ("001", (1,)), ("002", (1,)), ("001", (0,)), ("003", (1,)),
    ]  # fmt: skip
