"""Headers, partitions and offsets of a table's records are stored with its rows, so that every reader has them."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import Driven

HEAD = """
CREATE TABLE a (
  id STRING PRIMARY KEY, v INT, h BYTES HEADER('x'), hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS
) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');
CREATE TABLE c (id STRING PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON');
CREATE STREAM s (id STRING KEY, w INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM used AS SELECT s.id, s.w AS w, c.w AS cw FROM s LEFT JOIN c ON s.id = c.id;
"""
Sent = tuple[str, str, Any, tuple[tuple[str, bytes], ...]]
SENT: list[Sent] = [
    ("a", "k", {"v": 1}, (("x", b"!"), ("y", b"?"))),
    ("c", "k", {"w": 5}, ()),
    ("s", "k", {"w": 7}, ()),
    ("a", "k", {"v": 2}, ()),
    ("a", "j", {"v": 3}, (("x", b"#"),)),
    ("a", "k", None, ()),
]
CASES: dict[str, list[tuple[Any, Any]]] = {
    "CREATE TABLE b AS SELECT a.id, v, w, h FROM a JOIN c ON a.id = c.id;": [
        ("k", (1, 5, b"!")),
        ("k", (2, 5, None)),
        ("k", None),
    ],
    "CREATE TABLE b AS SELECT id, v FROM a WHERE h IS NULL;": [("k", (2,)), ("k", None)],
    "CREATE TABLE b AS SELECT h, COUNT(*) AS n FROM a GROUP BY h;": [(b"!", (1,)), (b"!", (0,)), (b"#", (1,))],
    "CREATE TABLE b AS SELECT * FROM a;": [
        ("k", (1, b"!", (("x", b"!"), ("y", b"?")))),
        ("k", (2, None, ())),
        ("j", (3, b"#", (("x", b"#"),))),
        ("k", None),
    ],
    "CREATE STREAM b AS SELECT s.id, s.w, a.ROWOFFSET AS o, a.ROWPARTITION AS p, h FROM s JOIN a ON s.id = a.id;": [
        ("k", (7, 0, 0, b"!")),
    ],
    "CREATE TABLE b AS SELECT ROWOFFSET AS o, COUNT(*) AS n FROM a GROUP BY ROWOFFSET;": [
        (0, (1,)),
        (1, (1,)),
        (0, (0,)),
        (2, (1,)),
        (1, (0,)),
    ],
}


@pytest.mark.parametrize("query", CASES)
def test_table_rows_keep_the_headers_of_their_records(query: str) -> None:
    driven = Driven(HEAD + query, tasks=1)
    results = []
    for at, (topic, key, value, headers) in enumerate(SENT):
        driven.send(topic, key, value, at, headers)
        results += [item for item in driven.sent if item.topic == "B"]
    assert driven.driver.errors == []
    rows = [(record.key[0], record.value) for record in results]
    assert sorted(rows, key=repr) == sorted(CASES[query], key=repr)  # rows of different keys may be in any order


@pytest.mark.parametrize(
    ("column", "reason"), [("h INT HEADER('x')", "write BYTES"), ("h BYTES HEADERS", "write ARRAY<STRUCT<")]
)
def test_columns_of_headers_have_their_types(column: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        program_of(f"CREATE STREAM s (k STRING KEY, {column}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');")
