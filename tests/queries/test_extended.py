"""DESCRIBE ... EXTENDED shows the queries of a stream or table, and the lag of their inputs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from forebay.queries.describe_extended import describe_extended
from forebay.sql.errors import SqlError
from forebay.sql.program import Program, program_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command
from tests.sql.driven import stream

PROGRAM = program_of(
    stream("id STRING KEY, n INT")
    + "CREATE TABLE t AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
    + "CREATE TABLE u AS SELECT c, COUNT(*) AS ids FROM t GROUP BY c;"
)


def describe_rows(program: Program, name: str, lag: dict[str, int]) -> list[tuple[str, str]]:
    def lag_of(topics: Sequence[str]) -> dict[str, int]:
        return {topic: lag[topic] for topic in topics if topic in lag}

    (command,) = parse(f"DESCRIBE {name} EXTENDED;")
    assert isinstance(command, Command)
    _, *rows, end = describe_extended(program, command, lag_of)
    assert end == {"end": {"rows": len(rows)}}
    return [(line["row"]["property"], line["row"]["value"]) for line in rows]


def test_a_table_has_the_lag_of_what_its_query_reads() -> None:
    topic = next(source.topic for source in PROGRAM.catalog if source.name == "S")
    rows = describe_rows(PROGRAM, "t", {topic: 7})
    assert ("kind", "table") in rows
    assert ("lag", f"{topic}: 7 records") in rows
    assert [value.split(":")[0] for name, value in rows if name in ("written by", "read by")] == [
        "CTAS_T_0",
        "CTAS_U_1",
    ]


def test_an_input_has_its_own_lag() -> None:
    topic = next(source.topic for source in PROGRAM.catalog if source.name == "S")
    assert ("lag", f"{topic}: nothing is read yet") in describe_rows(PROGRAM, "s", {})


def test_what_a_query_reads_directly_has_no_lag() -> None:
    assert not [name for name, _ in describe_rows(PROGRAM, "u", {}) if name == "lag"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SqlError, match="OTHER"):
        describe_rows(PROGRAM, "other", {})
