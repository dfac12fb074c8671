"""Files written for ksqlDB, with shell commands, TERMINATE, unknown settings, SOURCE and connectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli.main import run
from forebay.sql.errors import SqlError
from forebay.sql.program import Program, program_of
from tests.sql.driven import Driven, stream

HEAD = stream("id STRING KEY, n INT")
QUERY = "CREATE STREAM o AS SELECT id, n FROM s;\n"


def refusal(text: str) -> str:
    with pytest.raises(SqlError) as refused:
        program_of(HEAD + text, "f.sql")
    return str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        "SHOW STREAMS",
        "LIST TOPICS EXTENDED",
        "SHOW FUNCTIONS",
        "DESCRIBE s",
        "DESCRIBE FUNCTION abs",
        "EXPLAIN o",
        "PRINT 'in' FROM BEGINNING",
    ],
)
def test_commands_of_the_shell_are_left_out_with_a_warning(command: str) -> None:
    program = program_of(f"{HEAD}{command};\n{QUERY}", "f.sql")
    assert [query.target.name for query in program.queries] == ["O"]
    [warning] = program.warnings
    assert warning.startswith("f.sql:2:1: ")
    assert "shows nothing when a file runs" in warning


@pytest.mark.parametrize("setting", ["ksql.streams.num.stream.threads", "no.such.setting"])
def test_a_setting_without_effect_is_a_warning(setting: str) -> None:
    program = program_of(f"{HEAD}SET '{setting}' = '3';\nUNSET '{setting}';\n{QUERY}", "f.sql")
    assert [warning.partition(": the")[0] for warning in program.warnings] == ["f.sql:2:1", "f.sql:3:1"]
    assert f"the setting {setting} has no effect here" in program.warnings[0]
    assert setting not in program.settings


def test_warnings_are_printed_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.sql"
    file.write_text(HEAD + "SET 'x' = 'y';\n" + QUERY)
    assert run(["sql", "-f", str(file)]) == 0
    assert "warning: f.sql:2:1: the setting x has no effect here" in capsys.readouterr().err


def names(program: Program) -> list[str]:
    return [query.name for query in program.queries]


SECOND = "CREATE STREAM p AS SELECT id, n + 1 AS n FROM s;\nINSERT INTO p SELECT id, n FROM s;\n"


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("TERMINATE CSAS_O_0;", ["CSAS_P_1", "INSERTQUERY_2"]),
        ("TERMINATE csas_o_7;", ["CSAS_P_1", "INSERTQUERY_2"]),
        ("TERMINATE INSERTQUERY_2;", ["CSAS_O_0", "CSAS_P_1"]),
        ("TERMINATE ALL;", []),
    ],
)
def test_terminate_removes_a_query(command: str, left: list[str]) -> None:
    assert names(program_of(HEAD + QUERY + SECOND + command, "f.sql")) == left


def test_other_queries_may_write_the_topic_of_a_terminated_query() -> None:
    driven = Driven(HEAD + QUERY + "TERMINATE CSAS_O_0;\nCREATE STREAM p AS SELECT id, n + 1 AS n FROM o;")
    assert driven.send("O", "k", {"N": 1}) == [("k", (2,), 0)]


def test_terminate_of_a_query_that_others_read_or_of_none_is_refused() -> None:
    reader = "CREATE STREAM p AS SELECT id, n FROM o;\n"
    assert "CSAS_O_0 can't be terminated: P (CSAS_P_1) reads it" in refusal(QUERY + reader + "TERMINATE CSAS_O_0;")
    assert names(program_of(HEAD + QUERY + reader + "TERMINATE ALL;")) == []
    assert "there is no query Q: the statements before this one have CSAS_O_0" in refusal(QUERY + "TERMINATE q;")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE SOURCE CONNECTOR c WITH ('connector.class' = 'x');",
        "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('connector.class' = 'x');",
        "DROP CONNECTOR c;",
        "SHOW CONNECTORS;",
        "LIST CONNECTORS;",
        "SHOW CONNECTOR PLUGINS;",
        "DESCRIBE CONNECTOR c;",
    ],
)
def test_connectors_are_refused_with_a_pointer_to_kafka_connect(statement: str) -> None:
    assert "connectors run in Kafka Connect: create and list them there" in refusal(statement)


def test_topics_are_listed_with_all_and_a_stream_may_be_called_connector() -> None:
    stream = "CREATE STREAM connector (id STRING KEY, n INT) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON');"
    statements = f"{stream} SHOW ALL TOPICS; LIST ALL TOPICS EXTENDED; DESCRIBE connector; DESCRIBE connector EXTENDED;"
    assert names(program_of(statements, "f.sql")) == []
    assert "'ALL' can't" in refusal("SHOW ALL STREAMS;")


SOURCE = "CREATE SOURCE {} r (id STRING {} KEY, n INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');\n"
SOURCES = [SOURCE.format("STREAM", ""), SOURCE.format("TABLE", "PRIMARY")]


@pytest.mark.parametrize("source", SOURCES, ids=["stream", "table"])
def test_a_source_is_read_only(source: str) -> None:
    kind = "TABLE" if "TABLE" in source else "STREAM"
    driven = Driven(HEAD + source + f"CREATE {kind} o AS SELECT id, n + 1 AS m FROM r;")
    assert driven.send("r", "k", {"N": 1}) == [("k", (2,), 0)]
    plain = source.replace("SOURCE ", "")
    for text, says in {
        f"{source}INSERT INTO r SELECT id, n FROM s;": "leave INSERT INTO out",
        f"{source}INSERT INTO r (id, n) VALUES ('a', 1);": "leave INSERT INTO ... VALUES out",
        f"{source}DROP {kind} r DELETE TOPIC;": "leave DELETE TOPIC out",
        f"{source}{plain.replace('CREATE', 'CREATE OR REPLACE')}": "leave OR REPLACE out",
    }.items():
        message = refusal(text)
        assert f"R is a SOURCE {kind}, which is read only" in message
        assert says in message
    replacing = source.replace("CREATE", "CREATE OR REPLACE")
    for text in (replacing, plain + replacing):
        assert "CREATE SOURCE can't replace a declaration" in refusal(text)
    assert program_of(f"{HEAD}{source}DROP {kind} r;").catalog.find("R") is None
    assert "leave SOURCE out of X AS SELECT" in refusal("CREATE SOURCE STREAM x AS SELECT * FROM s;")
