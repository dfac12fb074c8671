"""If a function fails with any error in any clause, its result is null."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from forebay.sql.functions.registry import SIGNATURES, function
from forebay.sql.limits import LimitReached
from forebay.sql.types import INT
from tests.sql.driven import Driven, stream

ERRORS: list[type[Exception]] = [
    StopIteration,
    UnicodeError,
    RecursionError,
    AssertionError,
    OSError,
    RuntimeError,
    KeyError,
]


@pytest.fixture(params=ERRORS)
def fails(request: pytest.FixtureRequest) -> Iterator[None]:
    def call(_value: Any) -> int:
        raise request.param("it fails")

    function("FAILS", "i", INT, call)
    yield
    del SIGNATURES["FAILS"]


HEAD = stream("id STRING KEY, n INT, a ARRAY<INT>")


@pytest.mark.usefixtures("fails")
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("STREAM o AS SELECT id, FAILS(n) AS x, n FROM s;", [("k", (None, 1))]),
        ("STREAM o AS SELECT id, n FROM s WHERE FAILS(n) = 1;", []),
        ("STREAM o AS SELECT id, COALESCE(FAILS(n), 7) AS x FROM s;", [("k", (7,))]),
        ("STREAM o AS SELECT id, TRANSFORM(a, x => FAILS(x)) AS x, n FROM s;", [("k", (None, 1))]),
        ("STREAM o AS SELECT id, ARRAY[FAILS(n), n] AS x FROM s;", [("k", ((None, 1),))]),
        ("STREAM o AS SELECT id, EXPLODE(ARRAY[FAILS(n), n]) AS x FROM s;", [("k", (None,)), ("k", (1,))]),
        ("STREAM o AS SELECT FAILS(n) AS g, n FROM s PARTITION BY FAILS(n);", [(None, (1,))]),
        ("TABLE o AS SELECT FAILS(n) AS g, COUNT(*) AS c FROM s GROUP BY FAILS(n);", []),
        ("TABLE o AS SELECT id, COUNT(FAILS(n)) AS c FROM s GROUP BY id;", [("k", (0,))]),
        ("TABLE o AS SELECT id, FAILS(SUM(n)) AS c, COUNT(*) AS d FROM s GROUP BY id;", [("k", (None, 1))]),
        ("TABLE o AS SELECT id, COUNT(*) AS c FROM s GROUP BY id HAVING FAILS(SUM(n)) > 0;", []),
    ],
)
def test_a_function_that_fails_makes_its_column_null(query: str, rows: list[Any]) -> None:
    driven = Driven(f"{HEAD}CREATE {query}")
    assert driven.rows("in", ("k", {"N": 1, "A": [1, 2]})) == rows
    assert driven.driver.errors == []


@pytest.mark.parametrize("error", [LimitReached("the limit X"), MemoryError("too large")])
def test_limit_and_memory_errors_fail_the_record_not_the_column(error: Exception) -> None:
    from tests.sql.functions.calls import value_of  # noqa: PLC0415

    def call(_value: Any) -> int:
        raise error

    function("FAILS", "i", INT, call)
    try:
        for text in ("FAILS(1)", "COALESCE(FAILS(1), 2)", "TRANSFORM(ARRAY[1], x => FAILS(x))"):
            with pytest.raises(type(error)):
                value_of(text)
    finally:
        del SIGNATURES["FAILS"]
