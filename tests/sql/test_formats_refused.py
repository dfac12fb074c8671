"""Types that a format can't represent, and meaningless names and options, are refused with line and column."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.sql.catalog import BOUNDS, PSEUDO
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of

NESTED = {"ARRAY": "ARRAY<INT>", "MAP": "MAP<STRING, INT>", "STRUCT": "STRUCT<f INT>"}
OTHERS = {"BOOLEAN": "BOOLEAN", "DECIMAL": "DECIMAL(4, 2)", "DATE": "DATE", "TIME": "TIME", "TIMESTAMP": "TIMESTAMP"}
UNSUPPORTED = {"DELIMITED": NESTED, "KAFKA": NESTED | OTHERS}
S = "CREATE STREAM s (k STRING KEY, a {0}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');\n"


def error_of(sql: str) -> str:
    with pytest.raises(SqlError) as error:
        program_of(sql, "f.sql")
    return str(error.value)


def statements() -> Iterator[tuple[str, str, str]]:
    for form, types in UNSUPPORTED.items():
        for name, kind in types.items():
            yield (
                f"CREATE STREAM x (v {kind}) WITH (KAFKA_TOPIC='x', KEY_FORMAT='NONE', VALUE_FORMAT='{form}');",
                "1:18",
                form,
            )
            query = f"CREATE STREAM x WITH (VALUE_FORMAT='{form}') AS SELECT k, a AS v FROM s;"
            yield S.format(kind) + query, f"2:{query.index('a AS') + 1}", form
            holder = "MAP" if name == "MAP" else form
            yield f"CREATE STREAM x (v {kind} KEY) WITH (KAFKA_TOPIC='x', FORMAT='{form}');", "1:18", holder
            query = f"CREATE STREAM x WITH (KEY_FORMAT='{form}') AS SELECT a AS v, k FROM s PARTITION BY a;"
            yield S.format(kind) + query, f"2:{query.index('a AS') + 1}", holder


@pytest.mark.parametrize(("sql", "place", "what"), list(statements()))
def test_a_type_that_a_format_does_not_have_is_refused_at_its_column(sql: str, place: str, what: str) -> None:
    message = error_of(sql)
    assert message.startswith(f"f.sql:{place}: ")
    assert what in message


@pytest.mark.parametrize("form", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "KAFKA", "DELIMITED"])
@pytest.mark.parametrize("kind", ["MAP<STRING, INT>", "ARRAY<MAP<STRING, INT>>", "STRUCT<f MAP<STRING, INT>>"])
def test_map_in_a_key_is_refused_at_any_depth(form: str, kind: str) -> None:
    declared = f"CREATE TABLE t (k {kind} PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', "
    assert "K" in error_of(f"{declared}KEY_FORMAT='{form}');")
    head = S.format(kind)
    for derived in (
        f"CREATE TABLE t WITH (KEY_FORMAT='{form}') AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;",
        f"CREATE STREAM t WITH (KEY_FORMAT='{form}') AS SELECT * FROM s PARTITION BY a;",
    ):
        assert "A" in error_of(head + derived)


@pytest.mark.parametrize("by", ["GROUP BY a, k", "GROUP BY k, a"])
def test_kafka_format_accepts_only_one_column(by: str) -> None:
    table = "CREATE TABLE t {} AS SELECT a, k, COUNT(*) AS n FROM s {};"
    assert "KAFKA holds a single column" in error_of(S.format("INT") + table.format("", by))
    program_of(S.format("INT") + table.format("WITH (KEY_FORMAT='JSON')", by))
    two = "CREATE STREAM x (v INT, w INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='KAFKA');"
    assert error_of(two).startswith("f.sql:1:55: KAFKA holds a single column, not V, W: write VALUE_FORMAT = 'JSON'")


@pytest.mark.parametrize("name", [*PSEUDO, *BOUNDS])
def test_names_of_pseudo_columns_are_no_names_of_columns(name: str) -> None:
    declared = "CREATE STREAM x (k STRING KEY, {} INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');"
    assert error_of(declared.format(name)).startswith("f.sql:1:32: ")
    head = S.format("INT").replace("WITH (", "WITH (WINDOW_TYPE='SESSION', ")
    for selected in (f"a AS {name}", name, f"s.{name}"):
        assert error_of(f"{head}CREATE STREAM x AS SELECT k, {selected} FROM s;").startswith("f.sql:2:30: ")
    program_of(f"{head}CREATE STREAM x AS SELECT k, {name} AS at FROM s;")


HEAD = "CREATE STREAM x (k STRING KEY, a INT) WITH (KAFKA_TOPIC='x', "
TWO = "CREATE STREAM x (k STRING KEY, a INT, b INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', "
WINDOWED = (
    "CREATE STREAM {0} (k INT KEY, a INT) WITH (KAFKA_TOPIC='{0}', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');\n"
)
OPTIONS = {
    f"{HEAD}VALUE_FORMAT='KAFKA', WRAP_SINGLE_VALUE=true);": "1:84",
    f"{HEAD}VALUE_FORMAT='DELIMITED', WRAP_SINGLE_VALUE=true);": "1:88",
    f"{HEAD}VALUE_FORMAT='PROTOBUF', WRAP_SINGLE_VALUE=false);": "1:87",
    f"{TWO}WRAP_SINGLE_VALUE=true);": "1:90",
    f"{TWO}WRAP_SINGLE_VALUE=false);": "1:90",
    f"{HEAD}VALUE_FORMAT='AVRO', VALUE_AVRO_SCHEMA_FULL_NAME=' ');": "1:83",
    f"{HEAD}VALUE_FORMAT='JSON', VALUE_SCHEMA_FULL_NAME='a.B');": "1:83",
    f"{HEAD}VALUE_FORMAT='DELIMITED', VALUE_DELIMITER=' ');": "1:88",
    f"{HEAD}VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='\t');": "1:88",
    f"{HEAD}VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION', WINDOW_SIZE='1 SECOND');": "1:106",
    "CREATE STREAM x (a INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');": "1:69",
    "CREATE STREAM x WITH (KAFKA_TOPIC='x', VALUE_FORMAT='DELIMITED');": "1:1",
    "CREATE STREAM x WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');": "1:1",
    "CREATE STREAM x (`1st` INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='AVRO');": "1:18",
    "CREATE STREAM x (a STRUCT<`b-c` INT>) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='AVRO');": "1:18",
    "CREATE STREAM x (m MAP<INT, INT>) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='AVRO');": "1:18",
    f"{S.format('INT')}CREATE STREAM x WITH (KEY_FORMAT='JSON') AS SELECT k, a FROM s PARTITION BY NULL;": "2:23",
    f"{S.format('INT')}CREATE STREAM x AS SELECT k, a FROM s PARTITION BY a, NULL;": "2:55",
    f"{S.format('INT')}CREATE STREAM x AS SELECT k, NULL <> NULL AS b FROM s;": "2:30",
    f"{S.format('INT')}CREATE STREAM x AS SELECT k, 9223372036854775808 AS b FROM s;": "2:30",
    f"{S.format('INT')}CREATE STREAM x AS SELECT k, -9223372036854775809 AS b FROM s;": "2:31",
    f"{WINDOWED.format('s')}{WINDOWED.format('t')}"
    "CREATE STREAM x AS SELECT * FROM s JOIN t WITHIN 1 DAY ON s.a = t.a;": "3:59",
}


@pytest.mark.parametrize("sql", OPTIONS)
def test_a_meaningless_clause_is_refused_at_its_place(sql: str) -> None:
    assert error_of(sql).startswith(f"f.sql:{OPTIONS[sql]}: ")


@pytest.mark.parametrize(
    "join", ["JOIN t WITHIN 1 DAY ON ABS(s.a) = ABS(t.a)", "FULL JOIN t WITHIN 1 DAY ON s.a = t.a"]
)
def test_synthetic_key_is_selected_by_star_or_by_name(join: str) -> None:
    head = S.format("INT") + S.format("INT").replace("STREAM s", "STREAM t")
    for selected, is_key in (("*", True), ("ROWKEY, s.*", True), ("s.*, t.*", False), ("s.*", False)):
        sql = f"{head}CREATE STREAM x AS SELECT {selected} FROM s {join};"
        if is_key:
            program_of(sql)
        else:
            assert "ROWKEY" in error_of(sql)
