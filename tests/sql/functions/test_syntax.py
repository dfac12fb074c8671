"""Syntax of numbers that begin with a point and of names that begin with a digit, and mixed types in lists."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from forebay.sql.errors import NOWHERE, SqlError
from forebay.sql.types import BIGINT, BOOLEAN, DOUBLE, STRING, ArrayType
from tests.sql.driven import Driven, stream
from tests.sql.functions.calls import value_of

COLUMNS: dict[str, Any] = {
    "D": (DOUBLE, 0.75),
    "N": (BIGINT, 3),
    "T": (STRING, "10.30"),
    "B": (BOOLEAN, True),
    "A": (ArrayType(BIGINT), (1, 2)),
}
VALUES: dict[str, Any] = {
    "d > .5": True,
    "-.5 < d": True,
    "d*.5e1": 3.75,
    "ARRAY[.5, 1.25][2] > .25": True,
    "t IN (true, 10, 10.30)": True,
    "t IN (true, 10)": False,
    "'true' IN (t, B)": SqlError,
    "t IN (n)": SqlError,
    "b IN (true, 10)": SqlError,
    "n IN ('3', 4)": True,
    "n IN ('x', 4)": SqlError,
    "a IN (ARRAY['1', 2])": True,
    "a IN (ARRAY['x', 2])": SqlError,
    "a IN (ARRAY[1, '2'], ARRAY['1', null])": True,
    "STRUCT(x := n) IN (STRUCT(x := '3'))": True,
    "STRUCT(x := n) IN (STRUCT(x := '3', y := 1))": False,
    "MAP('k' := ARRAY[n]) IN (MAP('k' := ARRAY['3']))": True,
    "ARRAY[ARRAY[n], ARRAY['4']]": ((3,), (4,)),
    "n IN ('3e0', 5)": True,
    "ARRAY[n, '2e1'][2]": Decimal(20),
    "a < ARRAY[1]": SqlError,
    "MAP('k' := n) > MAP('k' := 1)": SqlError,
    "STRUCT(x := n) >= STRUCT(x := 1)": SqlError,
    "b > false": SqlError,
    "-true": SqlError,
    "ARRAY_REMOVE(t, '1')": SqlError,
    "ARRAY_CONTAINS(t, '1')": SqlError,
    "COALESCE(1, n)": 1,
}


@pytest.mark.parametrize("text", VALUES)
def test_a_value(text: str) -> None:
    if VALUES[text] is SqlError:
        with pytest.raises(SqlError):
            value_of(text, COLUMNS)
    else:
        assert value_of(text, COLUMNS) == VALUES[text]


def test_keys_of_a_map_of_texts_may_be_numbers_that_are_written_down() -> None:
    assert value_of("MAP(t := b, 'k' := 'true', 10 := 'no')", COLUMNS) == {"10.30": True, "k": True, "10": False}


def test_a_name_may_begin_with_a_digit() -> None:
    driven = Driven(
        f"{stream('id STRING KEY, v DOUBLE')}CREATE STREAM a AS SELECT id, v AS 1st, v * 2 AS 2_r FROM s;"
        "CREATE STREAM o AS SELECT id, 1st + 2_r AS x FROM a;"
    )
    assert driven.rows("in", ("k", {"V": 1.5}))[-1] == ("k", (4.5,))
    assert [member.name for member in driven.program.catalog.get("A", NOWHERE).values] == ["1ST", "2_R"]


@pytest.mark.parametrize(
    ("kind", "key", "index"),
    [("INT", "1", "1"), ("BIGINT", "-1", "-1"), ("BOOLEAN", "true", "true"), ("DOUBLE", "1.5", "1.5")],
)
def test_maps_with_keys_that_are_no_texts(kind: str, key: str, index: str) -> None:
    driven = Driven(
        f"{stream(f'id STRING KEY, m MAP<{kind}, INT>')}CREATE STREAM o AS SELECT id, m[{index}] AS v, m FROM s;"
        f"CREATE STREAM p AS SELECT id, m[{index}] AS w FROM o;"
    )
    rows = driven.rows("in", ("k", {"M": {key: 5}}))
    assert (rows[0][1][0], rows[-1][1]) == (5, (5,))


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("ABS(KSQL_COL_1), ABS(KSQL_COL_1 - 1)", ["KSQL_COL_0", "KSQL_COL_2"]),
        ("item->item, item->name", ["ITEM_1", "NAME"]),
        ("item->name, item->name AS other", ["NAME", "OTHER"]),
    ],
)
def test_columns_without_a_name_are_called_as_in_ksqldb(select: str, names: list[str]) -> None:
    columns = "id STRING KEY, KSQL_COL_1 INT, item STRUCT<item INT, name STRING, KSQL_COL_1 INT>"
    driven = Driven(f"{stream(columns)}CREATE STREAM o AS SELECT id, {select} FROM s;")
    assert [member.name for member in driven.program.catalog.get("O", NOWHERE).values] == names
