"""LEFT and FULL OUTER joins keep rows with null keys, with nulls for the other side (KIP-962)."""

from __future__ import annotations

import pytest

from tests.sql.driven import Driven

DECLARED = """
CREATE STREAM s (k STRING KEY, who STRING, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, who STRING, w INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
CREATE TABLE o (id STRING PRIMARY KEY, who STRING, v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');
CREATE TABLE t (id STRING PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
"""


@pytest.mark.parametrize(
    ("select", "is_kept"),
    [
        ("s.k AS k, v, w FROM s LEFT JOIN t ON s.k = t.id", True),
        ("s.who AS who, v, w FROM s LEFT JOIN t ON s.who = t.id", True),
        ("s.k AS k, v, w FROM s JOIN t ON s.k = t.id", False),
        ("s.k AS k, v, w FROM s LEFT JOIN r WITHIN 5 SECONDS ON s.k = r.k", True),
        ("s.who AS who, v, w FROM s LEFT JOIN r WITHIN 5 SECONDS ON s.who = r.who", True),
        ("ROWKEY AS k, v, w FROM s FULL OUTER JOIN r WITHIN 5 SECONDS ON s.k = r.k", True),
        ("s.who AS who, v, w FROM s JOIN r WITHIN 5 SECONDS ON s.who = r.who", False),
    ],
)
def test_stream_record_with_a_null_join_key(select: str, is_kept: bool) -> None:
    run = Driven(f"{DECLARED}CREATE STREAM j AS SELECT {select};")
    assert run.send("s", None, {"who": None, "v": 1}, 10) == ([(None, (1, None), 10)] if is_kept else [])
    assert not run.driver.errors


@pytest.mark.parametrize(("kind", "right"), [("LEFT JOIN", [(1, 7), (2, None), None]), ("JOIN", [(1, 7), None])])
def test_table_row_with_a_null_foreign_key(kind: str, right: list[object]) -> None:
    run = Driven(f"{DECLARED}CREATE TABLE j AS SELECT o.id AS id, v, w FROM o {kind} t ON o.who = t.id;")
    run.send("t", "ann", {"w": 7})
    rows = [{"who": "ann", "v": 1}, {"who": None, "v": 2}, None]
    assert [value for row in rows for _, value, _ in run.send("o", "1", row)] == right
