"""A query's key condition selects the keys whose value equals the literal, for every type."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from forebay.sql.reading import reading_of

CASES: dict[tuple[str, str], list[Any] | None] = {
    ("INT", "3.0"): [3],
    ("INT", "4.5"): [],
    ("INT", "3000000000"): [],
    ("INT", "1e300"): [],
    ("INT", "-3"): [-3],
    ("BIGINT", "3000000000"): [3_000_000_000],
    ("DOUBLE", "3"): [3.0],
    ("DOUBLE", "0.5"): [0.5],
    ("DECIMAL(4, 2)", "1.5"): [1.5],
    ("DECIMAL(4, 2)", "1.555"): [],
    ("DECIMAL(4, 2)", "100"): [],
    ("DECIMAL(4, 2)", "1e300"): [],
    ("DECIMAL(4, 2)", "1e308 * 10"): [],
    ("DECIMAL(4, 2)", "1e308 * 10 - 1e308 * 10"): [],
    ("DECIMAL(40, 1)", "-123456789012345678901234567890.5"): [Decimal("-123456789012345678901234567890.5")],
    ("INT", "1e308 * 10"): [],
    ("BIGINT", "1e308 * 10 - 1e308 * 10"): [],
    ("DOUBLE", "1e308 * 10"): [math.inf],
    ("STRING", "'a'"): ["a"],
    ("BOOLEAN", "true"): [True],
    ("DATE", "'1970-01-02'"): [1],
    ("INT", "10 + 1"): [11],
    ("INT", "11 - 2 * 5"): [1],
    ("INT", "-(3)"): [-3],
    ("INT", "7 % 4"): [3],
    ("BIGINT", "2000000000 + 2000000000 * 0"): [2_000_000_000],
    ("DOUBLE", "1.5 * 2"): [3.0],
    ("INT", "n + 1"): None,
    ("INT", "n"): None,
}


@pytest.mark.parametrize(("kind", "written"), CASES)
@pytest.mark.parametrize("condition", ["id = {0}", "{0} = id", "id IN ({0}, {0})"])
def test_key_condition_matches_the_written_literal(kind: str, written: str, condition: str) -> None:
    program = program_of(
        f"CREATE TABLE t (id {kind} PRIMARY KEY, n {kind}) "
        "WITH (KAFKA_TOPIC='t', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
        f"SELECT * FROM t WHERE {condition.format(written)};"
    )
    keys = reading_of(program.selects[0].query, program.catalog).keys
    assert (None if keys is None else [key for (key,) in keys]) == CASES[kind, written]


@pytest.mark.parametrize(
    ("kind", "written"),
    [("INT", "'3'"), ("DOUBLE", "'3'"), ("DECIMAL(4, 2)", "'3'"), ("BOOLEAN", "'true'"), ("STRING", "3")],
)
@pytest.mark.parametrize("condition", ["id = {0}", "id IN ({0})"])
def test_a_pull_query_does_not_convert_the_key_that_it_names(kind: str, written: str, condition: str) -> None:
    create = f"CREATE TABLE t (id {kind} PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
    program = program_of(f"{create}SELECT * FROM t WHERE {condition.format(written)};")
    with pytest.raises(SqlError, match=r"can't be (converted to the type of the key column|compared)"):
        reading_of(program.selects[0].query, program.catalog)


@pytest.mark.parametrize(
    ("kind", "written", "key"), [("INT", "'3'", 3), ("DOUBLE", "'3'", 3.0), ("BOOLEAN", "'true'", True)]
)
def test_a_push_query_converts_texts_in_a_list_as_any_statement(kind: str, written: str, key: Any) -> None:
    create = f"CREATE TABLE t (id {kind} PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
    program = program_of(f"{create}SELECT * FROM t WHERE id IN ({written}) EMIT CHANGES;")
    assert reading_of(program.selects[0].query, program.catalog).keys == ((key,),)
