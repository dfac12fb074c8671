"""Functions of users receive Python values, have the types of their annotations, and return null if they fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forebay.sql.describing import describe
from forebay.sql.errors import SqlError
from forebay.sql.extension.declaring import DECLARED, remove
from forebay.sql.extension.loading import load_file
from forebay.sql.program import program_of
from forebay.sql.statements import parse
from tests.sql.driven import Driven, stream
from tests.sql.functions.calls import type_of, value_of

FILE = Path(__file__).with_name("own_functions.py")


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    load_file.cache_clear()
    load_file(FILE)
    yield
    for name in list(DECLARED):
        remove(name)


VALUES = {
    "INITIALS('Ada King')": ("STRING", "AK"),
    "INITIALS('Ada King', '.')": ("STRING", "A.K"),
    "INITIALS(CAST(NULL AS STRING))": ("STRING", None),
    "INITIALS(NULL)": ("STRING", None),
    "INITIALS('')": ("STRING", ""),
    "EITHER(NULL, 2)": ("BIGINT", 2),
    "EITHER(NULL, NULL)": ("BIGINT", None),
    "JOINED_ALL()": ("STRING", ""),
    "JOINED_ALL('a', 'b', 'c')": ("STRING", "a+b+c"),
    "SWAP(STRUCT(first := 'Ada', last := 'King'))": ("STRUCT<`FIRST` STRING, `LAST` STRING>", ("King", "Ada")),
    "SWAP(STRUCT(first := 'Ada', last := CAST(NULL AS STRING)))": ("STRUCT<`FIRST` STRING, `LAST` STRING>", None),
    "RANGE_OF(ARRAY[3, 1, 2])->low": ("DOUBLE", 1.0),
    "RANGE_OF(ARRAY[CAST(NULL AS INT)])->low": ("DOUBLE", None),
    "COUNT_LETTERS('aba')": ("MAP<STRING, INTEGER>", {"a": 2, "b": 1}),
    "NEXT_DAY(PARSE_DATE('1970-01-02', 'yyyy-MM-dd'), PARSE_TIME('13:00', 'HH:mm'), FROM_UNIXTIME(0))": (
        "ARRAY<BIGINT>",
        (719164, 13, 1970),
    ),
    "TOMORROW(PARSE_DATE('1970-01-02', 'yyyy-MM-dd'))": ("DATE", 2),
    "NOON(1)": ("TIME", 43_200_000),
    "NEW_YEAR(1971)": ("TIMESTAMP", 31_536_000_000),
    "NEW_YEAR(0)": ("TIMESTAMP", None),
    "DOUBLE_PRICE(CAST(1.5 AS DECIMAL(4, 1)))": ("DECIMAL(10, 2)", Decimal("3.00")),
    "DOUBLE_PRICE(7)": ("DECIMAL(10, 2)", Decimal("14.00")),
    "WRONG_RESULT('text')": ("BIGINT", None),
    "WRONG_RESULT('large')": ("BIGINT", None),
    "WRONG_RESULT('bool')": ("BIGINT", None),
    "WRONG_RESULT('float')": ("BIGINT", None),
    "WRONG_RESULT('none')": ("BIGINT", None),
    "REVERSED_BYTES(TO_BYTES('ab', 'utf8'))": ("BYTES", b"ba"),
    "TYPE_NAME(ARRAY[1])": ("STRING", "tuple"),
    "FIELDS_OF(STRUCT(x := 1, y := ARRAY['a']))": ("ARRAY<STRING>", ("X=1", "Y=['a']")),
    "COALESCE(WRONG_RESULT('text'), 5)": ("BIGINT", 5),
    "TRANSFORM(ARRAY['a b', 'c'], x => INITIALS(x))": ("ARRAY<STRING>", ("ab", "c")),
    "INITIALS(INITIALS('{a} {b}', '}'), '{')": ("STRING", "{"),
}


@pytest.mark.parametrize("text", VALUES)
def test_values_go_to_python_and_back(text: str) -> None:
    kind, value = VALUES[text]
    assert (str(type_of(text)), value_of(text)) == (kind, value)


REFUSED = {
    "INITIALS(1)": "INITIALS(INTEGER) does not exist: write INITIALS(STRING, [STRING])",
    "INITIALS()": "write INITIALS(STRING, [STRING])",
    "JOINED_ALL('a', 1)": "write JOINED_ALL(STRING ...)",
    "DOUBLE_PRICE('x')": "write DOUBLE_PRICE(DECIMAL)",
    "INITIALS(x => x)": "INITIALS takes values, no functions",
    "INITIAL('x')": "there is no function INITIAL: write one of INITCAP, INITIALS",
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_arguments_are_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(SqlError) as refused:
        type_of(text)
    assert REFUSED[text] in str(refused.value)


def test_a_failure_is_logged_once_for_each_line(caplog: pytest.LogCaptureFixture) -> None:
    driven = Driven(stream("id STRING KEY, t STRING") + "CREATE STREAM o AS SELECT id, WRONG_RESULT(t) AS n FROM s;")
    with caplog.at_level(logging.WARNING, "forebay.sql"):
        assert driven.rows("in", ("k", {"T": "gone"}), ("k", {"T": "missing"})) == [("k", (None,)), ("k", (None,))]
    [message] = [record.getMessage() for record in caplog.records]
    assert "the SQL function WRONG_RESULT (" in message
    assert "own_functions.py:" in message
    assert "failed with KeyError: 'gone'; its column is null" in message
    assert driven.driver.errors == []


def test_a_table_function_makes_rows() -> None:
    query = "CREATE STREAM o AS SELECT id, WORDS(t) AS w, NUMBERS_TO(n) AS m FROM s;"
    driven = Driven(stream("id STRING KEY, t STRING, n INT") + query)
    assert driven.rows("in", ("k", {"T": "a b c", "N": 2}), ("k", {"T": None, "N": 0})) == [
        ("k", ("a", 0)),
        ("k", ("b", 1)),
        ("k", ("c", None)),
    ]


def test_a_table_function_without_end_is_refused() -> None:
    driven = Driven(stream("id STRING KEY, n INT") + "CREATE STREAM o AS SELECT id, NUMBERS_TO(n) AS m FROM s;")
    assert driven.rows("in", ("k", {"N": 1_000_000}), ("k", {"N": 1})) == [("k", (0,))]
    [error] = driven.driver.errors
    assert "ARRAY_ITEMS" in error.headers["error.message"]


def test_an_aggregate_of_a_stream_in_windows_and_sessions() -> None:
    driven = Driven(
        stream("id STRING KEY, x DOUBLE, t STRING")
        + "CREATE TABLE o AS SELECT id, PRODUCT(x) AS p, MOST_COMMON(t, 2) AS m FROM s GROUP BY id;"
        + "CREATE TABLE p AS SELECT id, PRODUCT(x) AS p FROM s WINDOW SESSION (10 MILLISECONDS) GROUP BY id;"
    )
    sent = [("k", {"X": 2, "T": "b"}), ("k", {"X": None, "T": "a"}), ("k", {"X": 3, "T": "a"})]
    rows = driven.rows("in", *sent)
    assert [value for key, value in rows if key == "k"] == [(2.0, ("b",)), (2.0, ("a", "b")), (6.0, ("a", "b"))]
    assert [value for _, value in rows if value and len(value) == 1][-1] == (6.0,)


def test_an_aggregate_that_fails_leaves_the_record_out() -> None:
    driven = Driven(
        stream("id STRING KEY, t STRING") + "CREATE TABLE o AS SELECT id, MOST_COMMON(t) AS m FROM s GROUP BY id;"
    )
    rows = [("k", {"T": text}) for text in ("a", "fail", "a", None, None)]
    assert driven.rows("in", *rows) == [("k", (("a",),))] * 3 + [("k", (None,))]
    [error] = driven.driver.errors
    assert "the SQL function MOST_COMMON (" in error.headers["error.message"]
    assert "failed with ValueError: no such text" in error.headers["error.message"]


TABLE = "CREATE TABLE t (id STRING PRIMARY KEY, g STRING, x DOUBLE) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"


def test_aggregate_with_undo_subtracts_rows_of_a_table() -> None:
    driven = Driven(TABLE + "CREATE TABLE o AS SELECT g, PRODUCT(x) AS p FROM t GROUP BY g;")
    driven.rows("in", ("a", {"G": "g", "X": 2}), ("b", {"G": "g", "X": 5}))
    assert driven.rows("in", ("a", {"G": "g", "X": 3}))[-1] == ("g", (15.0,))
    assert driven.rows("in", ("b", None))[-1] == ("g", (3.0,))


def test_aggregate_without_undo_is_refused_for_a_table() -> None:
    with pytest.raises(SqlError, match="MOST_COMMON can't take a row out again"):
        program_of(TABLE + "CREATE TABLE o AS SELECT id, MOST_COMMON(g) AS p FROM t GROUP BY id;")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("PRODUCT(t)", r"it does not take \(STRING\): write ...\(DOUBLE\)"),
        ("MOST_COMMON(t, n)", "must be literals"),
        ("MOST_COMMON(t, 'x')", r"it does not take \(STRING, STRING\)"),
    ],
)
def test_an_aggregate_s_arguments_are_checked(call: str, says: str) -> None:
    with pytest.raises(SqlError, match=says):
        program_of(
            stream("id STRING KEY, t STRING, n INT") + f"CREATE TABLE o AS SELECT id, {call} AS m FROM s GROUP BY id;"
        )


def answer(text: str) -> list[dict[str, Any]]:
    (command,) = parse(text)
    return [line["row"] for line in describe(program_of(stream("id STRING KEY, n INT")), command) if "row" in line]  # type: ignore[arg-type]


def test_they_are_listed_and_described_with_their_docstrings() -> None:
    rows = {row["function"]: row for row in answer("SHOW FUNCTIONS;")}
    assert rows["INITIALS"]["description"] == "Return the first letters of the words of a name."
    assert [rows[name]["kind"] for name in ("INITIALS", "WORDS", "PRODUCT")] == ["scalar", "table", "aggregate"]
    [row] = answer("DESCRIBE FUNCTION initials;")
    assert row["function"] == "INITIALS(STRING, [STRING])"
    assert row["returns"] == "STRING"
    assert "A separator may stand between them." in row["description"]
    assert "own_functions.py:" in row["defined"]
    assert answer("DESCRIBE FUNCTION words;")[0]["returns"] == "STRING"
    assert answer("DESCRIBE FUNCTION most_common;")[0]["function"] == "MOST_COMMON(STRING, [BIGINT])"
