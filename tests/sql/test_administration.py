"""DEFINE, RUN SCRIPT, ALTER, ASSERT, PAUSE and RESUME work in files, as in ksqlDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.serde.resolver import UnknownSchemaId
from forebay.sql.administration import AssertTopic
from forebay.sql.assertions import difference_of
from forebay.sql.compile import topology_of
from forebay.sql.describing import describe
from forebay.sql.errors import SqlError
from forebay.sql.program import Program, program_of, program_of_statements
from forebay.sql.service import statements_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command, CreateAs, CreateSource, SetProperty
from forebay.sql.types import INT, STRING, SqlType
from tests.sql.driven import Driven

S = "CREATE STREAM s (id STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');\n"
A = "CREATE STREAM a AS SELECT id, v + 1 AS w FROM s;\n"
B = "CREATE STREAM b AS SELECT id, w + 1 AS x FROM a;\n"


def error_of(sql: str) -> str:
    with pytest.raises(SqlError) as error:
        program_of(sql, "f.sql", lookup=schema_of)
    return str(error.value)


def schema_of(subject: str, schema_id: int) -> tuple[int, str] | None:
    if schema_id > 1:
        raise UnknownSchemaId(schema_id, "none")
    return (1, '"string"') if subject in ("s-value", "") else None


def test_a_variable_is_a_name_a_text_a_number_or_part_of_a_text() -> None:
    text = (
        "DEFINE name = 's'; DEFINE topic = '''the-topic'''; DEFINE N = '3'; DEFINE part = 'ON';\n"
        "CREATE STREAM ${name} (`${name}-x` ${kind} KEY)\n"
        " WITH (KAFKA_TOPIC=${topic}, PARTITIONS=${n}, VALUE_FORMAT='JS${part}'); -- ${nothing}"
    )
    *_, created = parse(text.replace("${kind}", "INT"))
    assert isinstance(created, CreateSource)
    assert created.name == "S"
    assert created.columns[0].name == "s-x"
    assert created.options == {"KAFKA_TOPIC": "the-topic", "PARTITIONS": 3, "VALUE_FORMAT": "JSON"}
    assert "${" not in created.text
    with pytest.raises(SqlError, match=r"f\.sql:2:36: there is no variable kind"):
        parse(text, "f.sql")


def test_two_dollars_are_not_replaced() -> None:
    text = "DEFINE n = '5'; DEFINE m = '$${n}'; SET 'x'='${n} $${n} ${m} $${unknown}';"
    *_, used = parse(text)
    assert isinstance(used, SetProperty)
    assert used.value == "5 ${n} ${n} ${unknown}"
    with pytest.raises(SqlError, match=r"there is no variable x: write DEFINE before, or \$\$\{x\} if the text"):
        parse("SET 'x'='${x}';")


def test_a_type_is_created_again_after_it_was_dropped() -> None:
    types: dict[str, SqlType] = {}
    parse("CREATE TYPE a AS INT; CREATE TYPE IF NOT EXISTS a AS STRING;", types=types)
    assert types == {"A": INT}
    parse("DROP TYPE a; CREATE TYPE a AS STRING;", types=types)
    assert types == {"A": STRING}


def test_variable_value_applies_until_it_is_redefined() -> None:
    text = "DEFINE a='1'; SET 'x'='${a}'; DEFINE A='${a}2'; SET 'x'='${a}'; UNDEFINE a; SET 'x'='${a}';"
    with pytest.raises(SqlError, match="line 1, column 85: there is no variable a"):
        parse(text)
    values = [statement.text for statement in parse(text.rsplit("UNDEFINE", 1)[0])]
    assert values[1::2] == ["SET 'x'='1'", "SET 'x'='12'"]


@pytest.mark.parametrize("value", ["a; DROP STREAM s", "a b", "a, b", "(a)", "", "a -- b"])
def test_a_value_outside_quotes_is_one_word_and_can_t_end_the_quotes_around_it(value: str) -> None:
    defined = f"DEFINE a = '{value}'; "
    with pytest.raises(SqlError, match="write one word, number, name or text"):
        parse(f"{defined}SELECT ${{a}} FROM s;")
    quoted = f"DEFINE a = 'it''s` {value}'; CREATE STREAM `${{a}}` AS SELECT '${{a}}' AS x FROM s;"
    _, created = parse(quoted)
    assert isinstance(created, CreateAs)
    assert created.name == f"it's` {value}"


def test_error_after_a_variable_has_its_position_in_the_file() -> None:
    message = error_of(
        f"{S}DEFINE long_name_of_a_column = 'v';\nCREATE STREAM o AS SELECT ${{long_name_of_a_column}}, y FROM s;"
    )
    assert message.startswith("f.sql:3:53: there is no column Y")


def test_statements_of_a_script_replace_run_script(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "all.sql").write_text("DEFINE n='1'; RUN SCRIPT 'parts/s.sql';\n" + A)
    (tmp_path / "parts" / "s.sql").write_text("CREATE TYPE id AS STRING;\nRUN SCRIPT 'more.sql';")
    (tmp_path / "parts" / "more.sql").write_text(S.replace("STRING", "id") + "SELECT ${n} FROM s;")
    statements = statements_of(tmp_path / "all.sql")
    assert [str(statement.place) for statement in statements] == [
        "all.sql:1:1",
        "s.sql:1:1",
        "more.sql:1:1",
        "more.sql:2:1",
        "all.sql:2:1",
    ]
    assert len(program_of_statements(statements).queries) == 1


def test_scripts_that_can_t_be_included_are_refused_at_their_statement(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(S + "RUN SCRIPT 'b.sql';")
    with pytest.raises(SqlError, match=r"^a\.sql:2:1: .*b\.sql can't be read: No such file"):
        statements_of(tmp_path / "a.sql")
    (tmp_path / "b.sql").write_text("RUN SCRIPT 'a.sql';")
    with pytest.raises(SqlError, match=r"^b\.sql:1:1: .*a\.sql includes itself"):
        statements_of(tmp_path / "a.sql")
    with pytest.raises(SqlError, match="RUN SCRIPT is for files"):
        program_of("RUN SCRIPT '/etc/passwd';")


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
def test_columns_are_added_at_the_end_and_queries_after_that_have_them(kind: str) -> None:
    role = "KEY" if kind == "STREAM" else "PRIMARY KEY"
    driven = Driven(
        f"CREATE {kind} s (id STRING {role}, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        f"CREATE {kind} a AS SELECT * FROM s; ALTER {kind} s ADD COLUMN w INT, ADD y STRING;"
        f"CREATE {kind} b AS SELECT * FROM s;"
    )
    driven.send("s", "k", {"v": 1, "w": 2, "y": "z"})
    assert {record.topic: record.value for record in driven.sent} == {"A": (1,), "B": (1, 2, "z")}


ALTERS = {
    f"{S}ALTER STREAM s ADD COLUMN v INT;": "2:27: S has a column V already",
    f"{S}ALTER STREAM s ADD w INT, ADD w INT;": "2:31: S has a column W already",
    f"{S}ALTER STREAM s ADD COLUMN w INT KEY;": "2:33: 'KEY' can't",
    f"{S}ALTER STREAM s ADD COLUMN ROWTIME BIGINT;": "2:27: every record has a ROWTIME",
    f"{S}ALTER TABLE s ADD COLUMN w INT;": "2:1: S is a STREAM",
    f"{S}{A}ALTER STREAM a ADD COLUMN x INT;": "3:1: A has its columns from its query",
    f"{S}ALTER STREAM s;": "2:15: ';' can't",
    "ALTER STREAM s ADD w INT;": "1:1: S does not exist",
    f"{S.replace('JSON', 'DELIMITED')}ALTER STREAM s ADD w ARRAY<INT>;": "2:20: DELIMITED holds no W",
}


@pytest.mark.parametrize("sql", ALTERS)
def test_columns_that_can_t_be_added_are_refused(sql: str) -> None:
    assert error_of(sql).startswith(f"f.sql:{ALTERS[sql]}")


HOLDS = [
    "STREAM s;",
    "STREAM s (id STRING KEY, v INT);",
    "STREAM s (id STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', KEY_FORMAT='KAFKA');",
    "STREAM a (id STRING KEY, w INT) WITH (KAFKA_TOPIC='A');",
    "SCHEMA SUBJECT 's-value';",
    "SCHEMA SUBJECT `s-value` ID 1 TIMEOUT 2 SECONDS;",
    "NOT EXISTS SCHEMA SUBJECT 't-value';",
    "NOT EXISTS SCHEMA ID 2;",
]
FAILS = {
    "STREAM s (id STRING KEY, v BIGINT);": "S has the columns ID STRING KEY, V INTEGER, not ID STRING KEY, V BIGINT",
    "STREAM s (v INT);": "S has the columns",
    "STREAM s WITH (KAFKA_TOPIC='t');": "topic s, not t",
    "STREAM s (id STRING KEY, v INT) WITH (VALUE_FORMAT='AVRO');": "value format JSON, not AVRO",
    "STREAM s (id STRING KEY, v INT) WITH (FORMAT='JSON');": "key format KAFKA, not JSON",
    "TABLE s;": "there is no TABLE S",
    "STREAM t;": "there is no STREAM T",
    "SCHEMA SUBJECT 't-value';": "no schema of subject t-value",
    "SCHEMA SUBJECT 's-value' ID 2;": "no schema of subject s-value with id 2",
    "NOT EXISTS SCHEMA SUBJECT 's-value';": "a schema of subject s-value",
}


@pytest.mark.parametrize("assertion", HOLDS)
def test_successful_assertion_is_accepted(assertion: str) -> None:
    program_of(f"{S}{A}ASSERT {assertion}", lookup=schema_of)


@pytest.mark.parametrize("assertion", FAILS)
def test_failed_assertion_is_reported_with_its_position(assertion: str) -> None:
    message = error_of(f"{S}{A}ASSERT {assertion}")
    assert message.startswith("f.sql:3:1: ASSERT: ")
    assert FAILS[assertion] in message


@pytest.mark.parametrize(
    ("assertion", "partitions", "replicas", "difference"),
    [
        ("TOPIC a_Topic", 3, 1, ""),
        ("TOPIC 'a_Topic' WITH (PARTITIONS=3, REPLICAS='1') TIMEOUT 5 SECONDS", 3, 1, ""),
        ("TOPIC `a_Topic` WITH (PARTITIONS=3)", 4, 1, "has PARTITIONS = 4, not 3"),
        ("TOPIC a_Topic WITH (REPLICAS=3)", 4, 1, "has REPLICAS = 1, not 3"),
        ("TOPIC a_Topic", 0, 0, "there is no topic a_Topic"),
        ("NOT EXISTS TOPIC a_Topic", 0, 0, ""),
        ("NOT EXISTS TOPIC a_Topic", 1, 1, "the topic a_Topic exists"),
    ],
)
def test_topics_are_compared_when_the_job_starts(
    assertion: str, partitions: int, replicas: int, difference: str
) -> None:
    (statement,) = program_of(f"ASSERT {assertion};").assertions
    assert isinstance(statement, AssertTopic)
    assert statement.timeout_ms == (5_000 if "TIMEOUT" in assertion else 1_000)
    result = difference_of(statement, partitions, replicas)
    assert difference in result
    assert bool(difference) is bool(result)


def names_of(sql: str) -> list[str]:
    program = program_of(sql)
    if program.queries:
        topology_of(program)
    return [query.target.name for query in program.queries]


def test_a_paused_query_is_left_out_until_it_resumes() -> None:
    other = "CREATE STREAM o AS SELECT id, v + 2 AS y FROM s;"
    assert names_of(f"{S}{A}{other}PAUSE CSAS_A_0;") == ["O"]
    assert names_of(f"{S}{A}{other}PAUSE csas_a_7;") == ["O"]
    assert names_of(f"{S}{A}{B}PAUSE CSAS_B_1;") == ["A"]
    assert names_of(f"{S}{A}{B}PAUSE CSAS_A_0; PAUSE CSAS_B_1;") == []
    assert names_of(f"{S}{A}{B}PAUSE ALL;") == []
    assert names_of(f"{S}{A}{B}PAUSE ALL; RESUME CSAS_A_0;") == ["A"]
    assert names_of(f"{S}{A}{B}PAUSE CSAS_A_0; RESUME ALL;") == ["A", "B"]
    assert "there is no query Q" in error_of(f"{S}{A}PAUSE q;")
    driven = Driven(f"{S}{A}{other}PAUSE CSAS_A_0;")
    assert driven.send("s", "k", {"V": 4}) == [("k", (6,), 0)]


def test_a_query_that_replaces_a_paused_one_runs() -> None:
    assert names_of(f"{S}{A}PAUSE CSAS_A_0; {A.replace('CREATE', 'CREATE OR REPLACE')}") == ["A"]


def continue_with(sql: str, *earlier: Driven) -> Driven:
    """Return a program that resumes from the state of earlier ones. Later states replace earlier ones."""
    driven = Driven(sql, tasks=1)
    driven.driver.restore(
        {
            task.place: (list(task.table.scan(b"")), task.position)
            for one in earlier
            for sub_topology in one.driver.sub_topologies
            for task in sub_topology.state_tasks
        }
    )
    return driven


@pytest.mark.parametrize(("first", "second"), ["sr", "rs"])
@pytest.mark.parametrize("paused", [0, 1])
def test_records_of_a_paused_query_are_not_late_after_another_query_ran(first: str, second: str, paused: int) -> None:
    sql = S + S.replace("STREAM s", "STREAM r").replace("='s'", "='r'")
    for number, source in enumerate((first, second)):
        window = "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 5 SECONDS)"
        sql += f"CREATE TABLE t{number} AS SELECT id, COUNT(*) AS c FROM {source} {window} GROUP BY id;\n"
    waiting, running = (first, second) if paused == 0 else (second, first)
    before = Driven(sql, tasks=1)
    for source in "sr":
        before.send(source, "k", {"V": 1}, 1_000)
    other_ran = continue_with(f"{sql}PAUSE CTAS_T{paused}_{paused};", before)
    assert other_ran.send(running, "k", {"V": 1}, 1_000_000)
    resumed = continue_with(sql, before, other_ran)
    assert resumed.send(waiting, "k", {"V": 1}, 12_000) == [(("k", 10_000, 20_000), (1,), 12_000)]
    assert not resumed.send(running, "k", {"V": 1}, 12_000), "the query that ran has its own time"


@pytest.mark.parametrize("pauses", ["PAUSE CSAS_A_0;", "PAUSE ALL; RESUME CSAS_B_1;"])
def test_a_query_that_others_read_is_not_paused_alone(pauses: str) -> None:
    # Otherwise the other query would reread all earlier rows of the topic.
    error = error_of(f"{S}{A}{B}{pauses}")
    assert error.startswith("f.sql:4:")
    assert "CSAS_A_0 can't be paused while CSAS_B_1 reads its result: write PAUSE CSAS_B_1, too" in error


def rows_of(program: Program, subject: str) -> list[dict[str, str]]:
    return [line["row"] for line in describe(program, Command("SHOW", subject)) if "row" in line]


def test_settings_and_variables_are_listed() -> None:
    program = program_of("SET 'auto.offset.reset'='earliest'; SET 'own'='1'; DEFINE a='b';")
    values = {row["property"]: row["value"] for row in rows_of(program, "PROPERTIES")}
    assert values["auto.offset.reset"] == "earliest"
    assert values["ksql.output.topic.name.prefix"] == ""
    assert rows_of(program, "VARIABLES") == [{"variable": "A", "value": "b"}]
