"""If a file declares a topic that it also writes, the query determines the format, and readers match names."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.serde.subjects import LocalSubjects, connect
from forebay.sql.errors import SqlError
from tests.sql.driven import Driven, stream

COUNTED = stream("k STRING KEY, v INT, w INT") + (
    "CREATE TABLE o WITH (KAFKA_TOPIC='o'{more}) AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k;\n"
)
WINDOWED = stream("k STRING KEY, v INT, w INT") + (
    "CREATE TABLE o WITH (KAFKA_TOPIC='o') AS "
    "SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;\n"
)


def declaration(columns: str, more: str = "VALUE_FORMAT='JSON'", kind: str = "STREAM") -> str:
    return f"CREATE {kind} d ({columns}) WITH (KAFKA_TOPIC='o', {more});\n"


def read(program: str, select: str) -> list[tuple[Any, Any]]:
    driven = Driven(f"{program}CREATE STREAM y AS {select};", tasks=1)
    rows = driven.rows("in", ("x", {"v": 10}), ("x", {"v": 20}))
    assert driven.driver.errors == []
    return rows


@pytest.mark.parametrize(
    ("columns", "select", "last"),
    [
        ("k STRING KEY, total INT, n BIGINT", "SELECT k, n, total FROM d", ("x", (2, 30))),
        ("k STRING KEY, n BIGINT", "SELECT k, n FROM d", ("x", (2,))),
        ("n BIGINT, total INT", "SELECT n, total FROM d", (None, (2, 30))),
        ("total INT", "SELECT total FROM d", (None, (30,))),
        ("other STRING KEY, n BIGINT", "SELECT other, n FROM d", ("x", (2,))),
    ],
)
def test_columns_are_found_by_name_and_the_topic_is_what_its_query_writes(
    columns: str, select: str, last: tuple[Any, Any]
) -> None:
    rows = read(COUNTED.format(more="") + declaration(columns), select)
    assert rows == [("x", (1, 10)), rows[1], ("x", (2, 30)), last]


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_columns_are_found_by_name_in_formats_of_a_registry(kind: str) -> None:
    connect(LocalSubjects())
    program = COUNTED.format(more=f", VALUE_FORMAT='{kind}'")
    rows = read(program + declaration("k STRING KEY, total INT, n BIGINT", f"VALUE_FORMAT='{kind}'"), "SELECT * FROM d")
    assert rows[2:] == [("x", (2, 30)), ("x", (30, 2))]


def test_a_windowed_table_is_read_with_its_windows() -> None:
    program = WINDOWED + declaration(
        "k STRING KEY, n BIGINT", "VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS'"
    )
    rows = read(program, "SELECT k, n, WINDOWSTART AS since FROM d")
    assert rows[2:] == [(("x", 0, 10_000), (2,)), (("x", 0, 10_000), (2, 0))]


def test_a_windowed_table_is_read_as_rows_without_a_key() -> None:
    assert read(WINDOWED + declaration("n BIGINT"), "SELECT n FROM d")[2:] == [(("x", 0, 10_000), (2,)), (None, (2,))]


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (WINDOWED + declaration("k STRING KEY, n BIGINT"), "windows (none here, TUMBLING of 10000 ms there)"),
        (
            WINDOWED
            + declaration(
                "k STRING KEY, n BIGINT", "VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='5 SECONDS'"
            ),
            "windows (TUMBLING of 5000 ms here",
        ),
        (COUNTED.format(more="") + declaration("k BIGINT KEY, n BIGINT"), "the key (KAFKA key BIGINT here"),
        (COUNTED.format(more="") + declaration("k STRING KEY, n BIGINT", "VALUE_FORMAT='AVRO'"), "the value (AVRO"),
        (
            COUNTED.format(more=", VALUE_FORMAT='DELIMITED'")
            + declaration("k STRING KEY, total BIGINT, n BIGINT", "VALUE_FORMAT='DELIMITED'"),
            "the value (DELIMITED",
        ),
        (
            COUNTED.format(more=", VALUE_FORMAT='DELIMITED'")
            + declaration("k STRING KEY, n BIGINT", "VALUE_FORMAT='DELIMITED'"),
            "the value (DELIMITED",
        ),
    ],
)
def test_a_topic_that_can_not_be_read_is_refused_with_both_lines(program: str, what: str) -> None:
    with pytest.raises(SqlError) as refused:
        Driven(f"{program}CREATE STREAM y AS SELECT * FROM d;")
    assert what in str(refused.value)
    assert "test.sql:3:" in str(refused.value)
    assert "written by O at test.sql:2:" in str(refused.value)


def test_a_stream_without_key_columns_ignores_its_records_keys() -> None:
    driven = Driven(f"{stream('v INT')}CREATE STREAM o AS SELECT v + 1 AS w FROM s;", tasks=1)
    driven.driver.pipe_bytes(b"some key", b'{"v":1}', 1, "in")
    assert [(output.key, output.value) for output in driven.driver.outputs] == [(None, (2,))]
