"""A parameter becomes a literal that the server parses as the same value. Other values are refused."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from forebay import dbapi
from forebay.dbapi.literals import WrongParameter, bind, literal
from forebay.sql.inserting import check_values
from forebay.sql.program import program_of
from forebay.sql.reading import reading_of
from forebay.sql.statements import parse
from forebay.sql.syntax import InsertValues, Select
from tests.sql.driven import stream

PROGRAM = program_of(
    stream("id STRING KEY, n BIGINT, d DOUBLE, price DECIMAL(30, 2), t TIME, words ARRAY<STRING>")
    + "CREATE TABLE totals AS SELECT id, COUNT(*) AS c FROM s GROUP BY id;"
)


class Float(float):
    """A number of a library such as NumPy, whose `repr` contains its type."""

    def __repr__(self) -> str:
        return f"other.Float({float(self)})"


@pytest.mark.parametrize(
    ("column", "value", "held"),
    [
        ("d", Float(1.5), 1.5),
        ("d", Float(1e300), 1e300),
        ("price", Decimal(10**20), Decimal(10**20)),
        ("price", -(10**20), Decimal(-(10**20))),
        ("price", Decimal("1E+20"), Decimal(10**20)),
        ("price", Decimal("0.25"), Decimal("0.25")),
        ("n", Decimal(10), 10),
        ("n", Decimal((1 << 63) - 1), (1 << 63) - 1),
        ("n", -(1 << 63), -(1 << 63)),
        ("n", Decimal(-(1 << 63)), -(1 << 63)),
        ("t", time(10, 30), 37_800_000),
        ("words", ["${x}", "it's ${y} ${}", "$x {y}"], ("${x}", "it's ${y} ${}", "$x {y}")),
    ],
)
def test_a_column_holds_the_value_of_a_parameter(column: str, value: Any, held: Any) -> None:
    text = bind(f"DEFINE x = 'other'; INSERT INTO s (id, {column}) VALUES (?, ?);", ["${x}", value])
    *_, statement = parse(text)
    assert isinstance(statement, InsertValues)
    assert check_values(statement, PROGRAM.catalog)[1] == {"ID": "${x}", column.upper(): held}


def test_a_text_that_looks_like_a_variable_is_still_a_key() -> None:
    (statement,) = parse(bind("SELECT * FROM totals WHERE id IN (?, ?);", ["${x}", "b"]))
    assert isinstance(statement, Select)
    assert reading_of(statement.query, PROGRAM.catalog).keys == (("${x}",), ("b",))


def test_a_time_with_an_offset_is_refused() -> None:
    with pytest.raises(WrongParameter, match="has an offset"):
        literal(time(10, tzinfo=UTC))
    assert literal(datetime(2026, 1, 1, 10, tzinfo=UTC)) == "'2026-01-01T10:00:00.000'"


def test_a_number_that_no_column_holds_is_a_data_error() -> None:
    cursor = dbapi.connect().cursor()
    for value in (10**5000, -(10**5000), [10**5000]):
        with pytest.raises(dbapi.DataError, match="no column holds"):
            cursor.execute("SELECT * FROM t WHERE n = ?;", [value])


@pytest.mark.parametrize("token", ["secret-token\n", "two words", "secret\r\nX: y", "schlüssel"])
def test_a_token_that_no_header_holds_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(dbapi.InterfaceError) as refused:
        dbapi.connect(token=token)
    assert token.split(maxsplit=1)[0] not in str(refused.value)
