"""Invalid statements are rejected before anything starts, with file, line, column and correction."""

from __future__ import annotations

import pytest

from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from tests.sql.driven import stream

HEAD = stream("id BIGINT KEY, area VARCHAR, n INT") + (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');\n"
    "CREATE TABLE u (id BIGINT PRIMARY KEY, other VARCHAR) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');\n"
)

REFUSED = {
    "CREATE STREAM a AS SELECT id, n FROM s WHERE (n = 1) IN (true, 'perhaps');": (
        "4:46",
        "'perhaps' is not a BOOLEAN",
    ),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE n IN (1, '2 or so');": (
        "4:46",
        "'2 or so' is not a valid INTEGER: write",
    ),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE COUNT(*) > 1;": (
        "4:46",
        "COUNT is an aggregate: write it in a column",
    ),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE EXPLODE(ARRAY[n]) > 1;": ("4:46", "EXPLODE is a table function"),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE n IN ();": ("4:52", "the list of IN is empty: write a value"),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s GROUP id;": ("4:57", "write BY"),
    "CREATE TABLE a AS SELECT id, nothing, COUNT(*) AS c FROM s GROUP BY id;": ("4:30", "there is no column NOTHING"),
    "CREATE TABLE a AS SELECT id, n FROM s GROUP BY id;": ("4:30", "LATEST_BY_OFFSET(N)"),
    "CREATE TABLE a AS SELECT COUNT(*) AS c FROM s GROUP BY id;": ("4:19", "the key column ID is missing"),
    "CREATE STREAM a AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;": ("4:1", "write CREATE TABLE A AS SELECT"),
    "CREATE TABLE a AS SELECT id, n FROM s;": ("4:1", "write CREATE STREAM A AS SELECT"),
    "CREATE STREAM a AS SELECT id, n + area AS x FROM s;": ("4:31", "CAST both to STRING"),
    "CREATE STREAM a AS SELECT id, LEN(n) AS x FROM s;": ("4:31", "write LEN(STRING)"),
    "CREATE STREAM a AS SELECT id, LENGTH(area) AS x FROM s;": (
        "4:31",
        "there is no function LENGTH: write one of LEN",
    ),
    "CREATE STREAM a AS SELECT id, n FROM s WHERE n;": ("4:46", "compare it with something"),
    "CREATE STREAM a AS SELECT s.id, x.id FROM s JOIN s x ON s.id = x.id;": ("4:50", "write WITHIN 1 HOUR"),
    "CREATE STREAM a AS SELECT s.id, t.name FROM s JOIN t ON s.area = t.name;": ("4:57", "write ON ... = T.ID"),
    "CREATE STREAM a AS SELECT id, n FROM s ORDER BY n;": ("4:40", "write no ORDER BY"),
    "CREATE STREAM a AS SELECT id, n FROM missing;": ("4:38", "write CREATE STREAM or TABLE MISSING before"),
    "CREATE STREAM s AS SELECT id, n FROM s;": ("4:1", "CREATE OR REPLACE"),
    "CREATE TABLE a AS SELECT id, MAX(name) AS x FROM t GROUP BY id;": ("4:30", "can't take a row out again"),
    "CREATE TABLE a AS SELECT id, SUM(area) AS x FROM s GROUP BY id;": ("4:30", "write SUM(a number)"),
    "CREATE STREAM b (id BIGINT) WITH (VALUE_FORMAT='JSON');": ("4:1", "write WITH (KAFKA_TOPIC"),
    "CREATE STREAM b (id BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='XML');": ("4:52", "there is no format XML"),
    "CREATE STREAM b (id BIGGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');": ("4:21", "CREATE TYPE"),
    "CREATE TABLE b (id BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');": ("4:1", "write PRIMARY KEY"),
    "CREATE STREAM a AS SELECT id, n FROM s WINDOW TUMBLING (SIZE 1 HOUR);": ("4:20", "needs GROUP BY"),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s GROUP BY id EMIT FINAL;": ("4:19", "add a WINDOW"),
    "INSERT INTO s SELECT id, n FROM s;": ("4:1", "select the same ones"),
    "TERMINATE q;": ("4:1", "there is no query Q"),
    "CREATE STREAM a AS SELECT id, 'text FROM s;": ("4:31", "the ' that opens here is not closed: write '"),
    "CREATE STREAM a AS SELECT id, 'it''s', `na``me, \n n FROM s;": ("4:40", "the ` that opens here is not closed"),
    "CREATE STREAM a AS /* it's /* deep */ */ SELECT id, -- 'so\n \"n FROM s;": ("5:2", 'the " that opens here'),
    "CREATE STREAM a AS /* so /* deep */ SELECT id, n FROM s;": (
        "4:20",
        "the /* that opens here is not closed: write */",
    ),
    f"CREATE STREAM a AS SELECT id, {'+'.join('n' * 500)} AS x FROM s;": ("4:1", "is nested too deeply"),
    f"CREATE STREAM a AS SELECT id, n FROM s WHERE {'NOT ' * 200}n = 1;": ("4:1", "is nested too deeply"),
    f"CREATE STREAM a AS SELECT id, n FROM s WHERE {'(' * 65}n = 1{')' * 65};": ("4:110", "more than 64 brackets"),
    "CREATE TABLE a AS SELECT u.id, t.name FROM u JOIN t ON u.other = t.id;": (
        "4:56",
        "write ON CAST(U.OTHER AS BIGINT) = ...",
    ),
    "CREATE TABLE a WITH (KEY_FORMAT='NONE') AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;": (
        "4:22",
        "KEY_FORMAT NONE writes no columns, and there is ID: write JSON",
    ),
    "CREATE STREAM a WITH (KEY_FORMAT='NONE') AS SELECT id, n FROM s;": ("4:23", "write JSON"),
    "CREATE TABLE a AS SELECT id, id AS copy, COUNT(*) AS c FROM s GROUP BY id;": (
        "4:30",
        "write AS_VALUE(S.ID) AS COPY",
    ),
    "CREATE STREAM a AS SELECT *, id AS copy FROM s;": ("4:30", "write AS_VALUE(S.ID) AS COPY"),
    "CREATE TABLE a AS SELECT id FROM s GROUP BY id;": ("4:19", "such as AS_VALUE(S.ID) AS copy"),
    "CREATE STREAM a AS SELECT id FROM s;": ("4:20", "such as AS_VALUE(S.ID) AS copy"),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 2 HOURS) GROUP BY id;": (
        "4:91",
        "can't advance by more than its SIZE, records would lie between: write ADVANCE BY less",
    ),
    "CREATE STREAM a WITH (TIMESTAMP='area', TIMESTAMP_FORMAT='l') AS SELECT id, area FROM s;": (
        "4:41",
        "the letter l means nothing in the pattern 'l': write one such as yyyy-MM-dd",
    ),
    "CREATE STREAM a AS SELECT id, NULL AS x FROM s;": ("4:31", "write CAST(NULL AS STRING)"),
    "CREATE STREAM a AS SELECT id, ARRAY[NULL] AS x FROM s;": ("4:31", "the type of X is unknown (ARRAY<NULL>)"),
    "CREATE STREAM a AS SELECT id, MAP() AS x FROM s;": ("4:31", "write CAST(NULL AS STRING)"),
    "CREATE STREAM a AS SELECT id, MAP_KEYS(NULL) AS x FROM s;": ("4:31", "a NULL is not a MAP: CAST it"),
    "CREATE STREAM a AS SELECT id, COALESCE() AS x FROM s;": ("4:31", "COALESCE of 0 values does not exist: write 1"),
    "CREATE STREAM a AS SELECT id, NULLIF(n) AS x FROM s;": ("4:31", "NULLIF of 1 values does not exist: write 2"),
    "CREATE STREAM a AS SELECT id, GREATEST() AS x FROM s;": ("4:31", "GREATEST of 0 values does not exist"),
    "CREATE STREAM a AS SELECT id, EXPLODE(n) AS x FROM s;": ("4:31", "EXPLODE takes an ARRAY"),
}

REFUSED["CREATE TABLE a AS SELECT COUNT(*) AS c FROM s GROUP BY n % 2;"] = (
    "4:19",
    "the key column (S.N % 2) is missing from the SELECT list: add it",
)
REFUSED |= {
    "CREATE TYPE a AS INT; CREATE TYPE a AS STRING;": ("4:35", "the type A is INTEGER already: give this one another"),
    "CREATE TYPE a AS INT; DROP TYPE a; CREATE STREAM b (id a) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON');": (
        "4:56",
        "there is no type A",
    ),
}
COUNTED = "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s WINDOW {} GROUP BY id;"
REFUSED |= {
    COUNTED.format("HOPPING (SIZE 1 DAY, ADVANCE BY 1 MILLISECOND)"): (
        "4:90",
        "in more than 100000 windows (limit WINDOWS_OF_RECORD): write ADVANCE BY 864 MILLISECONDS or more",
    ),
    COUNTED.format("HOPPING (SIZE 1 DAY, ADVANCE BY 0 SECONDS)"): ("4:90", "write ADVANCE BY 864 MILLISECONDS or more"),
    COUNTED.format("TUMBLING (SIZE 1 DAY, ADVANCE BY 1 HOUR)"): ("4:80", "write SIZE, GRACE PERIOD or RETENTION"),
    COUNTED.format("SESSION (1 DAY, SIZE 1 HOUR)"): ("4:74", "write GRACE PERIOD or RETENTION"),
    COUNTED.format("SESSION (99999999999999999999 DAYS)"): ("4:67", "write at most 53375995583 of this unit"),
    COUNTED.format("TUMBLING (SIZE 9223372036854775807 DAYS)"): ("4:73", "write at most 53375995583 of this unit"),
    COUNTED.format("TUMBLING (SIZE 1 DAY, GRACE PERIOD 9223372036854775807 SECONDS)"): (
        "4:93",
        "longer than all times",
    ),
}
HEAD_OF_B = "CREATE STREAM b (id BIGINT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON', "
TABLE_WITH = "CREATE TABLE a WITH (RETENTION_MS=1) AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
REFUSED |= {
    f"{HEAD_OF_B}PARTITIONS='a');": ("4:73", "PARTITIONS is 'a': write a whole number from 1 to 2147483647"),
    f"{HEAD_OF_B}PARTITIONS=0);": ("4:73", "PARTITIONS is 0: write a whole number from 1"),
    f"{HEAD_OF_B}REPLICAS='lots');": ("4:73", "REPLICAS is 'lots': write a whole number from 1 to 32767"),
    f"{HEAD_OF_B}RETENTION_MS='never');": ("4:73", "RETENTION_MS is 'never': write a whole number from -1"),
    f"{HEAD_OF_B}CLEANUP_POLICY='delete');": ("4:73", "and CLEANUP_POLICY can't change that: omit it"),
    f"{HEAD_OF_B}WRAP_SINGLE_VALUE='perhaps');": ("4:73", "write TRUE or FALSE"),
    f"{HEAD_OF_B}VALUE_DELIMITER='::');": ("4:73", "write a single character, or SPACE or TAB"),
    f"{HEAD_OF_B}COPIES=2);": ("4:73", "there is no option COPIES: write one of"),
    f"{HEAD_OF_B}WINDOW_TYPE='DAILY');": ("4:73", "write TUMBLING, HOPPING or SESSION"),
    "CREATE STREAM b (id BIGINT) WITH (VALUE_FORMAT='JSON', KAFKA_TOPIC='bad topic');": ("4:56", "write 'bad_topic'"),
    "CREATE STREAM `a b` AS SELECT id, n FROM s;": ("4:1", "write 'a_b', WITH (KAFKA_TOPIC = '...')"),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 0 DAYS) GROUP BY id;": (
        "4:58",
        "a window lasts longer than 0 ms: write TUMBLING (SIZE 1 HOUR)",
    ),
    "CREATE TABLE a AS SELECT id, COUNT(*) AS c FROM s WINDOW SESSION (0 SECONDS) GROUP BY id;": (
        "4:58",
        "write SESSION (1 HOUR)",
    ),
    "CREATE STREAM a WITH (VALUE_FORMAT='DELIMITED') AS SELECT id, ARRAY[n] AS x FROM s;": (
        "4:63",
        "DELIMITED holds no X ARRAY<INTEGER>: write VALUE_FORMAT = 'JSON'",
    ),
    TABLE_WITH: ("4:22", "RETENTION_MS is for streams and windowed tables"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_that_cant_run_is_refused_with_its_place_and_the_remedy(statement: str) -> None:
    place, remedy = REFUSED[statement]
    with pytest.raises(SqlError) as refused:
        topology_of(program_of(HEAD + statement, "views.sql"))
    assert str(refused.value).startswith(f"views.sql:{place}: ")
    assert remedy in str(refused.value)
