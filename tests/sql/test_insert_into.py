"""Records of INSERT INTO reach every reader of its target, regardless of the order of the statements."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.sql.driven import Driven

HEAD = """
CREATE STREAM a (k STRING KEY, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');
CREATE STREAM b (k STRING KEY, v INT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE STREAM unused AS SELECT t.w AS w, a.k AS k FROM a JOIN t ON a.k = t.k;
"""
TARGETS = {
    "a query's stream": "CREATE STREAM o AS SELECT k, v FROM a;",
    "a declared stream": "CREATE STREAM o (k STRING KEY, v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');"
    "INSERT INTO o SELECT k, v FROM a;",
}
READERS = {
    "an aggregate": "CREATE TABLE r AS SELECT k, COUNT(*) AS n FROM o GROUP BY k;",
    "an aggregate by another key": "CREATE TABLE r AS SELECT v, COUNT(*) AS n FROM o GROUP BY v;",
    "windows": "CREATE TABLE r AS SELECT k, COUNT(*) AS n FROM o WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;",
    "a table to look up": "CREATE STREAM r AS SELECT o.k, v, w FROM o JOIN t ON o.k = t.k;",
    "two streams": "CREATE STREAM r AS SELECT o.k, o.v, x.v AS xv FROM o JOIN a x WITHIN 1 HOUR ON o.k = x.k;",
    "a chain": "CREATE STREAM q AS SELECT k, v FROM o; CREATE TABLE r AS SELECT k, SUM(v) AS n FROM q GROUP BY k;",
}
INSERT = "INSERT INTO o SELECT k, v FROM b;"
SENT = [("t", {"w": 7}), ("a", {"v": 1}), ("b", {"v": 1}), ("b", {"v": 2}), ("a", {"v": 3})]


def results(sql: str) -> list[object]:
    driven = Driven(sql)
    results = []
    for at, (topic, value) in enumerate(SENT):
        driven.send(topic, "x", value, at)
        results += [item for item in driven.sent if item.topic == "R"]
    assert driven.driver.errors == []
    return [(record.key, record.value, record.timestamp) for record in results]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_place_of_the_statement_changes_nothing(target: str, reader: str) -> None:
    first, *others = (
        results("".join((HEAD, TARGETS[target], *more))) for more in permutations((READERS[reader], INSERT))
    )
    assert len(first) >= len(SENT) - 1
    for other in others:
        assert sorted(other, key=repr) == sorted(first, key=repr)


def test_a_key_may_have_another_name_in_the_target() -> None:
    driven = Driven(
        HEAD + "CREATE STREAM o AS SELECT v, k AS w FROM a PARTITION BY v;"
        "CREATE STREAM c (n INT KEY, s STRING) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON', KEY_FORMAT='KAFKA');"
        "INSERT INTO o SELECT n AS v, s AS w FROM c;"
    )
    assert driven.rows("a", ("x", {"v": 1})) == [(1, ("x",))]
    assert driven.send("c", b"\0\0\0\2", {"s": "y"}) == [(2, ("y",), 0)]
