"""Windows and joins over a result with TIMESTAMP use its times, however far they are from those of the input."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.stores.versioned import VersionedKeyValueStore
from tests.sql.driven import Driven

RESULT = """
CREATE STREAM a (id STRING KEY, at BIGINT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE STREAM b WITH (TIMESTAMP='AT') AS SELECT id, at FROM a;
"""
COUNTED = "CREATE TABLE c AS SELECT id, COUNT(*) AS n FROM b WINDOW {} GROUP BY id;"
JOINED = """
CREATE STREAM o (id STRING KEY, v INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');
CREATE STREAM c AS SELECT b.id, v FROM b LEFT JOIN o WITHIN 5 MILLISECONDS GRACE PERIOD 9 MILLISECONDS ON b.id = o.id;
"""


def results(statement: str, shift: int, *, tasks: int) -> list[Any]:
    """Return the results of four records whose times are `shift` ms from their timestamps."""
    run = Driven(RESULT + statement, tasks)
    for at in (1_001, 1_002, 1_013, 1_026):
        run.driver.pipe_bytes(b"k", b'{"AT": %d}' % at, at - shift, "in")
    if "LEFT JOIN" in statement:
        run.driver.pipe_bytes(b"k", b'{"V": 7}', 1_028, "other")
    run.driver.advance_wall_time(100)
    assert run.driver.late == run.driver.errors == []
    return [(sent.key, sent.value, sent.timestamp) for sent in run.driver.outputs if sent.topic == "C"]


@pytest.mark.parametrize("shift", [-5_000, 1_000])
@pytest.mark.parametrize(
    "windows",
    [
        "TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 0 SECONDS)",
        "HOPPING (SIZE 10 MILLISECONDS, ADVANCE BY 5 MILLISECONDS, GRACE PERIOD 0 SECONDS)",
        "SESSION (5 MILLISECONDS, GRACE PERIOD 0 SECONDS)",
    ],
)
def test_windows(windows: str, shift: int) -> None:
    statement = COUNTED.format(windows)
    unchanged = results(statement, 0, tasks=1)
    assert [value for _, value, _ in unchanged if value][1] == (2,) or "HOPPING" in windows
    assert results(statement, shift, tasks=1) == results(statement, shift, tasks=3) == unchanged


@pytest.mark.parametrize("shift", [-5_000, 1_000])
def test_joins(shift: int) -> None:
    unchanged = results(JOINED, 0, tasks=1)
    assert [value for _, value, _ in unchanged] == [(None,), (None,), (None,), (7,)]
    assert results(JOINED, shift, tasks=1) == results(JOINED, shift, tasks=3) == unchanged


TABLE = """
CREATE STREAM a (id STRING KEY, at BIGINT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE TABLE b WITH (TIMESTAMP='AT') AS SELECT id, LATEST_BY_OFFSET(at) AS at FROM a {} GROUP BY id;
"""


def test_query_over_a_table_uses_its_timestamps() -> None:
    run = Driven(TABLE.format("") + "CREATE TABLE c AS SELECT id, ROWTIME AS time FROM b;")
    run.send("in", "k", {"AT": 1_001}, 5_000)
    assert [(sent.topic, sent.value[-1], sent.timestamp) for sent in run.sent] == [
        ("B", 1_001, 1_001),
        ("C", 1_001, 1_001),
    ]


def test_join_with_a_table_uses_its_timestamps() -> None:
    run = Driven(
        TABLE.format("")
        + "CREATE STREAM o (id STRING KEY, v INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');"
        + "CREATE STREAM c AS SELECT o.id, b.ROWTIME AS time FROM o JOIN b ON o.id = b.id;"
        + "CREATE TABLE d AS SELECT one.id, one.ROWTIME AS time FROM b one LEFT JOIN b other ON one.id = other.id;"
    )
    run.send("in", "k", {"AT": 1_001}, 5_000)
    assert [(sent.topic, sent.value[-1], sent.timestamp) for sent in run.sent][1:] == [("D", 1_001, 1_001)]
    assert run.send("other", "k", {"V": 7}, 6_000) == [("k", (1_001,), 6_000)]


def test_a_window_of_a_table_keeps_its_key() -> None:
    windows = "WINDOW TUMBLING (SIZE 10 SECONDS)"
    run = Driven(TABLE.format(windows) + "CREATE TABLE c AS SELECT id, WINDOWSTART AS start, ROWTIME AS time FROM b;")
    (_, result) = run.send("in", "k", {"AT": 1_001}, 25_000)
    assert result == (("k", 20_000, 30_000), (20_000, 1_001), 1_001)


IN = "WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', KEY_FORMAT='{}'{});\n"
SOURCES = {
    "a time in the key": (
        "CREATE STREAM s (at BIGINT KEY, v INT)" + IN.format("JSON", ", TIMESTAMP='AT'"),
        [(b"1001", b"{}"), (b"1001", b"{}"), (b"1012", b"{}")],
    ),
    "a topic of two declarations": (
        "CREATE STREAM s (k STRING KEY, at BIGINT)"
        + IN.format("KAFKA", ", TIMESTAMP='AT'")
        + "CREATE STREAM other (k STRING KEY, v INT)"
        + IN.format("KAFKA", "")
        + "CREATE STREAM copy AS SELECT k, v FROM other;",
        [(b"x", b'{"AT":1001}'), (b"x", b'{"AT":1002}'), (b"x", b'{"AT":1012}')],
    ),
}


@pytest.mark.parametrize("case", SOURCES)
@pytest.mark.parametrize("timestamp", [0, 1_000, 5_000])
def test_windows_of_a_source_use_its_times(case: str, timestamp: int) -> None:
    declared, records = SOURCES[case]
    key = "at" if "BIGINT KEY" in declared else "k"
    windows = "WINDOW TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 0 SECONDS)"
    run = Driven(f"{declared}CREATE TABLE c AS SELECT {key}, COUNT(*) AS n FROM s {windows} GROUP BY {key};")
    for number, (record_key, value) in enumerate(records):
        run.driver.pipe_bytes(record_key, value, timestamp + number, "in")
    counts = [(sent.key.window.start, sent.value) for sent in run.driver.outputs if sent.topic == "C"]
    assert counts == [(1_000, (1,)), (1_000, (2,)), (1_010, (1,))]
    assert run.driver.late == run.driver.errors == []


def test_the_history_of_a_table_has_its_times() -> None:
    run = Driven(TABLE.format("").replace("TIMESTAMP='AT'", "TIMESTAMP='AT', HISTORY_RETENTION='1 HOUR'"), tasks=1)
    for at in (1_001, 1_007):
        run.send("in", "k", {"AT": at}, 5_000)
    (history,) = run.driver.sub_topologies[0].stores("b-history")
    assert isinstance(history, VersionedKeyValueStore)
    assert [(value, at) for _, value, at in history.history()] == [((1_001,), 1_001), ((1_007,), 1_007)]
