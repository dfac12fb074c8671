"""The results of statements equal ksqlDB's: keys, expressions, aggregates, windows, tables, joins."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from forebay.serde.subjects import LocalSubjects, connect
from tests.sql.driven import Driven, stream


def select_value(expression: str, columns: str, value: dict[str, Any]) -> Any:
    driven = Driven(f"{stream(columns)}CREATE STREAM o AS SELECT {expression} AS x FROM s;")
    ((_, row),) = driven.rows("in", (None, value))
    return row[0]


EXPRESSIONS = {
    "a + b * 2": 7,
    "a / 2": 0,
    "-7 / 2": -3,
    "-7 % 2": -1,
    "2147483647 + a": -2147483648,
    "a / 0": None,
    "d / 0": float("inf"),
    "1.25 + 2.5": Decimal("3.75"),
    "1.0 / 3.0": Decimal("0.333333"),
    "a + none": None,
    "a = none": False,
    "none IS NULL": True,
    "a IS DISTINCT FROM none": True,
    "(a = 1) OR (none = 1)": True,
    "CASE WHEN a > 1 THEN 'more' WHEN b = 3 THEN 'three' ELSE 'less' END": "three",
    "CASE a WHEN 2 THEN 'two' END": None,
    "CAST(b AS STRING) + t": "3one two",
    "CAST('12' AS INT)": 12,
    "CAST('x' AS INT)": None,
    "CAST(d AS STRING)": "1.5",
    "CAST(' Tr' AS BOOLEAN)": True,
    "CAST('YES' AS BOOLEAN)": True,
    "CAST('yes!' AS BOOLEAN)": False,
    "CAST('' AS BOOLEAN)": False,
    "(a = 1) IN (false, 'Y')": True,
    "(a = 1) IN (false, 'no')": False,
    "t LIKE 'one%'": True,
    "a IN (1, 2)": True,
    "a NOT BETWEEN 1 AND 2": False,
    "items[1]": 5,
    "items[-1]": 7,
    "items[9]": None,
    "names['k']": "v",
    "s->x->y": 4,
    "STRUCT(p := a, q := t)->q": "one two",
    "TRANSFORM(items, i => i + a)": (6, 8),
    "REDUCE(items, 0, (sum, i) => sum + i)": 12,
    "FILTER(items, i => i > 5)": (7,),
    "COALESCE(none, b)": 3,
    "COALESCE(a / 0, b)": None,
    "IFNULL(CAST('x' AS INT), 7)": 7,
    "ARRAY[a, b / 0]": (1, None),
    "ARRAY[CAST(a AS BIGINT), CAST('x' AS BIGINT) + b]": (1, None),
    "MAP('p' := a, 'q' := b / 0)": {"p": 1, "q": None},
    "STRUCT(p := a % 0, q := t)": (None, "one two"),
    "TRANSFORM(items, i => ARRAY[i, i / (i - 5)])": ((5, None), (7, 3)),
    "b IN (4, '3.00')": True,
    "b IN (4, '3.01')": False,
    "d IN (4, '15e-1')": True,
    "b IN ('2147483648', 3)": True,
    "b BETWEEN '2.5' AND '3.5'": True,
    "SUBSTRING(t, 5)": "two",
    "INITCAP(t)": "One Two",
    "SPLIT(t, ' ')": ("one", "two"),
    "ARRAY_JOIN(items, '-')": "5-7",
    "TIMESTAMPTOSTRING(1735689600000, 'yyyy-MM-dd HH:mm', 'Europe/Rome')": "2025-01-01 01:00",
    "PARSE_DATE('2025-01-31', 'yyyy-MM-dd')": 20119,
    'EXTRACTJSONFIELD(\'{"p": [1, {"q": "r"}]}\', \'$.p[1].q\')': "r",
}
COLUMNS = (
    "a INT, b INT, d DOUBLE, none INT, t STRING, items ARRAY<INT>, names MAP<STRING, STRING>, s STRUCT<x STRUCT<y INT>>"
)
VALUE = {"A": 1, "b": 3, "D": 1.5, "T": "one two", "ITEMS": [5, 7], "NAMES": {"k": "v"}, "S": {"X": {"Y": 4}}}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(expression: str) -> None:
    assert select_value(expression, COLUMNS, VALUE) == EXPRESSIONS[expression]


AGGREGATES: dict[str, list[Any]] = {
    "COUNT(n)": [1, 1, 2],
    "COUNT(*)": [1, 2, 3],
    "SUM(n)": [0.1, 0.1, 0.1 + 0.2],
    "AVG(n)": [0.1, 0.1, (0.1 + 0.2) / 2],
    "MAX(n)": [0.1, 0.1, 0.2],
    "LATEST_BY_OFFSET(n)": [0.1, 0.1, 0.2],
    "EARLIEST_BY_OFFSET(n, 2)": [(0.1,), (0.1,), (0.1, 0.2)],
    "LATEST_BY_OFFSET(n, false)": [0.1, None, 0.2],
    "COLLECT_LIST(n)": [(0.1,), (0.1, None), (0.1, None, 0.2)],
    "COLLECT_SET(t)": [("a",), ("a", "b"), ("a", "b")],
    "COUNT_DISTINCT(t)": [1, 2, 2],
    "TOPK(n, 1)": [(0.1,), (0.1,), (0.2,)],
    "TOPKDISTINCT(t, 2)": [("a",), ("b", "a"), ("b", "a")],
    "HISTOGRAM(t)": [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}],
    "STDDEV_SAMPLE(n)": [0.0, 0.0, pytest.approx(0.0707, abs=1e-4)],
    "SUM(n) / COUNT(*)": [0.1, 0.05, pytest.approx(0.1)],
}


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_an_aggregate(aggregate: str) -> None:
    head = stream("id STRING KEY, n DOUBLE, t STRING")
    driven = Driven(f"{head}CREATE TABLE o AS SELECT id, {aggregate} AS x FROM s GROUP BY id;")
    sent = [("k", {"N": 0.1, "T": "a"}), ("k", {"N": None, "T": "b"}), ("k", {"N": 0.2, "T": "a"})]
    assert [(key, row[0]) for key, row in driven.rows("in", *sent)] == [("k", want) for want in AGGREGATES[aggregate]]


def test_bytes_and_nan_have_javas_order_in_aggregates() -> None:
    head = stream("id STRING KEY, h STRING, n DOUBLE")
    y = "TO_BYTES(h, 'hex')"
    aggregates = f"MIN({y}) AS a, MAX({y}) AS b, TOPK({y}, 2) AS c, TOPK(n / n, 3) AS d"
    driven = Driven(f"{head}CREATE TABLE o AS SELECT id, {aggregates} FROM s GROUP BY id;")
    rows = driven.rows("in", *(("k", {"H": h, "N": n}) for h, n in (("80", 1.0), ("01", 0.0), ("7F", 2.0))))
    least, most, largest, (first, *others) = rows[-1][1]
    assert (least, most, largest, others) == (b"\x80", b"\x7f", (b"\x7f", b"\x01"), [1.0, 1.0])
    assert math.isnan(first)


def test_a_histogram_counts_nulls_as_a_text() -> None:
    head = stream("id STRING KEY, t STRING")
    driven = Driven(f"{head}CREATE TABLE o AS SELECT id, HISTOGRAM(t) AS x FROM s GROUP BY id;")
    assert driven.rows("in", *(("k", {"T": t}) for t in ("a", None, None)))[-1] == ("k", ({"a": 1, "null": 2},))


def test_a_condition_of_hundreds_of_parts() -> None:
    several = " OR ".join(f"n = {n}" for n in range(0, 6_000, 20))
    none = " AND ".join(f"n != {n}" for n in range(6_001, 8_000, 20))
    driven = Driven(f"{stream('n INT')}CREATE STREAM o AS SELECT n FROM s WHERE ({several}) AND {none};")
    assert driven.rows("in", *((None, {"N": n}) for n in (5, 2_980, 5_999, 5_980, 6_001))) == [
        (None, (2_980,)),
        (None, (5_980,)),
    ]


def test_sums_of_doubles_are_exact_in_any_order() -> None:
    driven = Driven(f"{stream('id STRING KEY, n DOUBLE')}CREATE TABLE o AS SELECT id, SUM(n) AS x FROM s GROUP BY id;")
    rows = driven.rows("in", *(("k", {"N": n}) for n in (1e16, 1.0, -1e16)))
    assert rows[-1] == ("k", (1.0,))


def test_group_by_an_expression_with_having_and_two_keys() -> None:
    driven = Driven(
        stream("id STRING KEY, area STRING, n INT", ", KEY_FORMAT='JSON'")
        + "CREATE TABLE o AS SELECT UCASE(area) AS a, n, COUNT(*) AS c, AS_VALUE(n) AS copy FROM s "
        "GROUP BY UCASE(area), n HAVING COUNT(*) > 1;"
    )
    sent = [(None, {"AREA": "hall", "N": 1}), (None, {"AREA": "Hall", "N": 1}), (None, {"AREA": None, "N": 1})]
    assert driven.rows("in", *sent)[-1] == (("HALL", 1), (2, 1))


def test_windows_and_their_bounds() -> None:
    driven = Driven(
        stream("id STRING KEY") + "CREATE TABLE o AS SELECT id, COUNT(*) AS c, WINDOWSTART AS b, WINDOWEND AS e FROM s "
        "WINDOW TUMBLING (SIZE 10 MILLISECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id EMIT FINAL;"
    )
    assert driven.send("in", "k", {}, 1) == driven.send("in", "k", {}, 4) == []
    assert driven.send("in", "k", {}, 12) == [(("k", 0, 10), (2, 0, 10), 4)]


def test_sessions_merge() -> None:
    driven = Driven(
        stream("id STRING KEY") + "CREATE TABLE o AS SELECT id, COUNT(*) AS c FROM s WINDOW SESSION (5 MILLISECONDS) "
        "GROUP BY id;"
    )
    assert driven.send("in", "k", {}, 0) == [(("k", 0, 0), (1,), 0)]
    assert driven.send("in", "k", {}, 8) == [(("k", 8, 8), (1,), 8)]
    assert driven.send("in", "k", {}, 4) == [(("k", 0, 0), None, 0), (("k", 8, 8), None, 8), (("k", 0, 8), (3,), 8)]


def test_changed_table_row_is_subtracted_from_its_former_group() -> None:
    driven = Driven(
        "CREATE TABLE t (id STRING PRIMARY KEY, area STRING, n INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE TABLE o AS SELECT area, SUM(n) AS total FROM t GROUP BY area;"
    )
    sent = [("a", {"AREA": "x", "N": 1}), ("b", {"AREA": "x", "N": 2}), ("a", {"AREA": "y", "N": 5}), ("b", None)]
    assert driven.rows("in", *sent) == [("x", (1,)), ("x", (3,)), ("x", (2,)), ("y", (5,)), ("x", (0,))]


TWO = (
    "CREATE STREAM l (id STRING KEY, v INT) WITH (KAFKA_TOPIC='l', VALUE_FORMAT='JSON');"
    "CREATE STREAM r (id STRING KEY, v INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');"
)


def test_left_join_of_streams_emits_unmatched_records_immediately_or_after_grace() -> None:
    query = "CREATE STREAM o AS SELECT l.id, l.v, r.v FROM l LEFT JOIN r WITHIN 10 MILLISECONDS {} ON l.id = r.id;"
    eager, patient = Driven(TWO + query.format("")), Driven(TWO + query.format("GRACE PERIOD 0 SECONDS"))
    assert eager.send("l", "k", {"V": 1}, 0) == [("k", (1, None), 0)]
    assert eager.send("r", "k", {"V": 2}, 5) == [("k", (1, 2), 5)]
    assert patient.send("l", "k", {"V": 1}, 0) == []
    assert patient.send("l", "k", {"V": 9}, 50) == [("k", (1, None), 0)]


def test_joins_of_a_stream_and_tables_one_after_the_other() -> None:
    driven = Driven(
        "CREATE STREAM s (id STRING KEY, item STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE TABLE p (item STRING PRIMARY KEY, price DOUBLE) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');"
        "CREATE TABLE m (item STRING PRIMARY KEY, maker STRING) WITH (KAFKA_TOPIC='m', VALUE_FORMAT='JSON');"
        "CREATE STREAM o AS SELECT s.item, s.id, price, maker FROM s JOIN p ON s.item = p.item "
        "LEFT JOIN m ON s.item = m.item;"
    )
    driven.send("p", "tea", {"PRICE": 2.5})
    assert driven.send("s", "one", {"ITEM": "tea"}) == [("tea", ("one", 2.5, None), 0)]
    driven.send("m", "tea", {"MAKER": "Wang"})
    assert driven.send("s", "two", {"ITEM": "tea"}) == [("tea", ("two", 2.5, "Wang"), 0)]


def test_a_foreign_key_join_follows_both_tables() -> None:
    driven = Driven(
        "CREATE TABLE o (id STRING PRIMARY KEY, who STRING) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');"
        "CREATE TABLE c (id STRING PRIMARY KEY, town STRING) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON');"
        "CREATE TABLE j AS SELECT o.id, c.town FROM o JOIN c ON o.who = c.id;"
    )
    driven.send("o", "o-1", {"WHO": "anna"}, 1)
    assert driven.send("c", "anna", {"TOWN": "rome"}, 2) == [("o-1", ("rome",), 2)]
    assert driven.send("c", "anna", {"TOWN": "oslo"}, 3) == [("o-1", ("oslo",), 3)]
    assert driven.send("o", "o-1", None, 4) == [("o-1", None, 4)]


def test_explode_partition_by_and_insert_into() -> None:
    driven = Driven(
        stream("id STRING KEY, items ARRAY<STRING>") + "CREATE STREAM o AS SELECT id, EXPLODE(items) AS item FROM s;"
        "CREATE STREAM p AS SELECT item, id FROM o PARTITION BY item;"
        "INSERT INTO p SELECT CAST('none' AS STRING) AS item, id FROM s WHERE ARRAY_LENGTH(items) = 0 "
        "PARTITION BY CAST('none' AS STRING);"
    )
    driven.send("in", "k", {"ITEMS": ["a", "b"]})
    assert driven.send("in", "k", {"ITEMS": ["c"]}) == [("k", ("c",), 0), ("c", ("k",), 0)]


@pytest.mark.parametrize(
    ("by", "key"),
    [("id + 1", 6), ("id, t", (5, None)), ("id + 1, COALESCE(t, 'none'), 2", (6, None, 2)), ("t", None)],
)
def test_null_value_is_partitioned_by_an_expression_of_its_former_key(by: str, key: Any) -> None:
    driven = Driven(
        stream("id INT KEY, t STRING, n INT", ", KEY_FORMAT='JSON'")
        + f"CREATE STREAM o AS SELECT {by}, n FROM s PARTITION BY {by};"
    )
    assert driven.send("in", "5", None) == [(key, None, 0)]


def test_a_null_value_without_a_key_is_partitioned_by_nulls() -> None:
    driven = Driven(
        stream("id INT KEY, t STRING, n INT", ", KEY_FORMAT='JSON'")
        + "CREATE STREAM o AS SELECT id, t, n FROM s PARTITION BY id, t;"
    )
    assert driven.send("in", None, None) == [((None, None), None, 0)]


def test_insert_into_casts_to_the_streams_types() -> None:
    connect(LocalSubjects())
    driven = Driven(
        stream("id INT KEY, n INT")
        + "CREATE STREAM o (id BIGINT KEY, price DECIMAL(5, 2), x DOUBLE) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='AVRO');"
        "INSERT INTO o SELECT id, n AS price, n AS x FROM s;"
    )
    ((key, row, _),) = driven.send("in", b"\0\0\0\x05", {"N": 3})
    assert (key, row, str(row[0]), type(row[1])) == (5, (Decimal("3.00"), 3.0), "3.00", float)
    assert driven.send("in", b"\0\0\0\x05", None) == [(5, None, 0)]


def test_records_inserted_into_a_stream_are_read_with_its_column_types() -> None:
    driven = Driven(
        stream("id INT KEY, n INT") + "CREATE STREAM o AS SELECT CAST(id AS BIGINT) AS id, CAST(n AS DECIMAL(5, 2)) AS "
        "price FROM s PARTITION BY CAST(id AS BIGINT);"
        "INSERT INTO o SELECT id, n AS price FROM s;"
        "CREATE TABLE t AS SELECT id, SUM(price) AS total FROM o GROUP BY id;"
    )
    assert driven.send("in", b"\0\0\0\x05", {"N": 3})[-1] == (5, (Decimal("6.00"),), 0)


def test_a_null_partition_key_leaves_no_key() -> None:
    driven = Driven(stream("id STRING KEY, t STRING") + "CREATE STREAM o AS SELECT t, id FROM s PARTITION BY t;")
    assert driven.send("in", "k", {"T": None}) == [(None, ("k",), 0)]


def test_delimited_rows_and_event_time_from_a_column() -> None:
    driven = Driven(
        "CREATE STREAM s (id INT KEY, at STRING, n DECIMAL(6, 2)) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='DELIMITED', "
        "TIMESTAMP='at', TIMESTAMP_FORMAT='yyyy-MM-dd');"
        "CREATE STREAM o AS SELECT id, n * 2 AS twice, ROWTIME AS t FROM s;"
    )
    ((key, row, timestamp),) = driven.send("in", b"\0\0\0\x05", "1970-01-02,12.50")
    assert (key, row, timestamp) == (5, (Decimal("25.00"), 86_400_000), 86_400_000)
    driven.send("in", b"\0\0\0\x05", "1970-01-02,many")
    (error,) = driven.driver.errors
    assert any("does not fit its columns" in text for text in error.headers.values())
