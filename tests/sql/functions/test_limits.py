"""An expression that is too expensive fails with the name of the limit, rather than exhausting time or memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay.sql import limits
from forebay.sql.limits import LimitReached
from forebay.sql.types import STRING
from tests.sql.driven import Driven, stream
from tests.sql.functions.calls import value_of

pytestmark = pytest.mark.long

TOO_MUCH = {
    "LPAD(t, 2000000000, 'x')": "TEXT_LETTERS",
    "RPAD(t, 2000000, 'x')": "TEXT_LETTERS",
    "REPLACE(LPAD(t, 1000000, 'a'), 'a', 'bbbb')": "TEXT_LETTERS",
    "CONCAT(LPAD(t, 1000000, 'a'), LPAD(t, 1000000, 'a'))": "TEXT_LETTERS",
    "CONCAT_WS(LPAD(t, 900000, 'a'), t, t, t)": "TEXT_LETTERS",
    "ARRAY_JOIN(GENERATE_SERIES(1, 100000), LPAD(t, 100, 'a'))": "TEXT_LETTERS",
    "REGEXP_REPLACE(LPAD(t, 100000, 'a'), 'a', 'aaaaaaaaaaaaaaaaaaaa')": "TEXT_LETTERS",
    "GENERATE_SERIES(1, 2000000000)": "ARRAY_ITEMS",
    "GENERATE_SERIES(CAST(1 AS BIGINT), CAST(9000000000000000000 AS BIGINT))": "ARRAY_ITEMS",
    "REDUCE(GENERATE_SERIES(1, 100), ARRAY[1], (s, x) => ARRAY_CONCAT(s, s))": "ARRAY_ITEMS",
    "REDUCE(GENERATE_SERIES(1, 100), 'x', (s, x) => s + s)": "TEXT_LETTERS",
    "TRANSFORM(GENERATE_SERIES(1, 100000), x => LPAD('', 100000, 'y'))": "CREATED_SIZE",
    "REDUCE(GENERATE_SERIES(1, 100000), ARRAY[''], (s, x) => ARRAY_CONCAT(s, ARRAY[LPAD(t, 9999, 'y')]))": (
        "CREATED_SIZE"
    ),
    "TRANSFORM(GENERATE_SERIES(1, 99999), x => REDUCE(GENERATE_SERIES(1, 99999), 0, (s, y) => s + y))": "EXPRESSION_MS",
    "FILTER(GENERATE_SERIES(1, 100000), x => ARRAY_LENGTH(GENERATE_SERIES(1, 100000)) > x)": (
        "EXPRESSION_MS",
        "CREATED",
    ),
    "REGEXP_EXTRACT('(a|aa)+$', LPAD('!', 200, 'a'))": "EXPRESSION_MS",
    "LPAD(t, 1000000, 'ab') LIKE '%' + LPAD('c', 200, 'ab_') + '%'": "LIKE_STEPS",
}


@pytest.mark.parametrize("expression", TOO_MUCH)
def test_an_expression_that_costs_too_much_names_its_limit(expression: str) -> None:
    names = TOO_MUCH[expression]
    with pytest.raises(LimitReached) as raised:
        value_of(expression, {"T": (STRING, "text")})
    assert any(name in str(raised.value) for name in ([names] if isinstance(names, str) else names))


def test_many_values_of_one_expression_are_counted_together() -> None:
    several = {
        f"ARRAY[{', '.join(['LPAD(t, 1000000, t)'] * 40)}]": {},
        f"ARRAY[{', '.join(['UCASE(t)'] * 60)}]": {"T": (STRING, "a" * 1_000_000)},
        f"ARRAY_LENGTH(ARRAY[{', '.join(['GENERATE_SERIES(1, 99999)'] * 400)}])": {},
    }
    for expression, columns in several.items():
        with pytest.raises(LimitReached, match="CREATED_SIZE"):
            value_of(expression, columns or {"T": (STRING, "text")})


def test_many_columns_of_one_row_are_counted_together() -> None:
    for select, number in (("LPAD(t, 1000000, '-')", 40), ("UCASE(t)", 80)):
        columns = ", ".join(f"{select} AS x{at}" for at in range(number))
        driven = Driven(f"{stream('id STRING KEY, t STRING')}CREATE STREAM o AS SELECT id, {columns} FROM s;")
        assert driven.send("in", "k", {"T": "a" * 500_000}) == []
        assert "CREATED_SIZE" in str(driven.driver.errors[0].headers["error.message"])
        assert len(driven.send("in", "k", {"T": "a"} if "UCASE" in select else {"T": None}, 1)) == 1


def test_patterns_of_like_cost_no_more_than_the_text_is_long() -> None:
    columns = {"T": (STRING, "a" * 8_000)}
    assert value_of("T LIKE '%a%a%a%a%a%a%a%b'", columns) is False
    assert value_of("T LIKE '%a_a%_a%'", columns) is True


def test_limits_apply_per_record() -> None:
    head = stream("id STRING KEY, n INT")
    driven = Driven(
        f"{head}CREATE STREAM o AS SELECT id, TRANSFORM(GENERATE_SERIES(1, n), x => LPAD('', 99999, 'y'))[1] AS x "
        "FROM s;"
    )
    for at in range(4):
        assert len(driven.send("in", "k", {"N": 100}, at)) == 1


def test_a_record_that_reaches_a_limit_goes_to_errors_and_the_next_is_processed() -> None:
    head = stream("id STRING KEY, n INT, t STRING")
    driven = Driven(f"{head}CREATE STREAM o AS SELECT id, LPAD(t, n, '-') AS x, t FROM s;")
    assert driven.send("in", "k", {"N": 2_000_000_000, "T": "a"}) == []
    assert "TEXT_LETTERS" in str(driven.driver.errors[0].headers["error.message"])
    assert driven.send("in", "k", {"N": 2, "T": "a"}, 1) == [("k", ("-a", "a"), 1)]


@pytest.mark.parametrize(
    ("where", "limit"),
    [
        ("SELECT id, n FROM s WHERE LEN(LPAD(t, n, '-')) > 1;", "TEXT_LETTERS"),
        ("SELECT id, EXPLODE(GENERATE_SERIES(1, n)) AS x FROM s;", "ARRAY_ITEMS"),
        ("SELECT id, EXPLODE(GENERATE_SERIES(1, n / 1000)) AS x, LPAD(t, 20000, '-') AS y, t FROM s;", "ROWS_SIZE"),
        ("SELECT id, CUBE_EXPLODE(GENERATE_SERIES(1, n / 10000000)) AS x FROM s;", "ARRAY_ITEMS"),
        ("SELECT LPAD(t, n, '-') AS x, t FROM s PARTITION BY LPAD(t, n, '-');", "TEXT_LETTERS"),
    ],
)
def test_limits_hold_in_every_clause(where: str, limit: str) -> None:
    text = where.replace("LPAD(t, 20000, '-') AS y, t", "big")
    driven = Driven(f"{stream('id STRING KEY, n INT, t STRING, big STRING')}CREATE STREAM o AS {text}")
    number = 20_000_000 if "1000)" in where else 2_000_000_000
    assert driven.send("in", "k", {"N": number, "T": "a", "BIG": "b" * 20_000}) == []
    assert limit in str(driven.driver.errors[0].headers["error.message"])


def test_limits_hold_in_group_by_and_arguments_of_aggregates() -> None:
    head = stream("id STRING KEY, n INT, t STRING")
    for select in (
        "LPAD(t, n, '-') AS g, COUNT(*) AS c FROM s GROUP BY LPAD(t, n, '-')",
        "id, MAX(LPAD(t, n, '-')) AS m FROM s GROUP BY id",
    ):
        driven = Driven(f"{head}CREATE TABLE o AS SELECT {select};")
        driven.send("in", "k", {"N": 2_000_000_000, "T": "a"})
        assert "TEXT_LETTERS" in str(driven.driver.errors[0].headers["error.message"])


def test_the_limits_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
    named = {name: int(value) for name, value in re.findall(r"\| `([A-Z_]+)` \| (\d+) \|", page)}
    assert named == {name: value for name, value in vars(limits).items() if name.isupper() and not name.startswith("_")}
