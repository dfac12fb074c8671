"""A query's key condition selects the keys whose value equals the literal, for every type."""

from __future__ import annotations

from typing import Any

import pytest

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
def test_a_key_equals_what_is_written(kind: str, written: str, condition: str) -> None:
    program = program_of(
        f"CREATE TABLE t (id {kind} PRIMARY KEY, n {kind}) "
        "WITH (KAFKA_TOPIC='t', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
        f"SELECT * FROM t WHERE {condition.format(written)};"
    )
    keys = reading_of(program.selects[0].query, program.catalog).keys
    assert (None if keys is None else [key for (key,) in keys]) == CASES[kind, written]
