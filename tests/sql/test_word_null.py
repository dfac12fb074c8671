"""A comparison with the literal NULL is refused, because its result would not depend on the row."""

from __future__ import annotations

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.program import program_of

STREAM = "CREATE STREAM s (id INT KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"


@pytest.mark.parametrize(
    "condition", ["n = NULL", "NULL != n", "n < NULL", "n IS DISTINCT FROM NULL", "n BETWEEN NULL AND 3", "NULL = NULL"]
)
def test_a_comparison_with_null_is_refused(condition: str) -> None:
    with pytest.raises(SqlError, match="IS NOT NULL"):
        program_of(f"{STREAM} CREATE STREAM o AS SELECT id, n FROM s WHERE {condition};")


@pytest.mark.parametrize("condition", ["n = CAST(NULL AS INT)", "n IN (1, NULL)", "n IS NULL"])
def test_other_nulls_are_accepted(condition: str) -> None:
    program_of(f"{STREAM} CREATE STREAM o AS SELECT id, n FROM s WHERE {condition};")


def test_a_view_compares_with_null_as_postgresql_does() -> None:
    program_of(f"{TABLE} CREATE MATERIALIZED VIEW v AS SELECT id, n FROM t WHERE n = NULL;")
