"""Numbers with too many digits are rejected. Formatting them would block the worker or exhaust its memory."""

from __future__ import annotations

import pytest

from forebay.codec import DecodeError
from forebay.sql.catalog import Named
from forebay.sql.encodings.delimited_rows import DelimitedRow
from forebay.sql.encodings.json_rows import JsonRow
from forebay.sql.encodings.readers import reader
from forebay.sql.types import BIGINT, DATE, INT, STRING, TIME, TIMESTAMP, DecimalType, SqlType
from tests.sql.driven import Driven

HUGE = ["1e999999999999999999", "1e1000000", "-1e1000000", "1" * 100_000 + ".0", "1" * 100_000]
WHOLE = [INT, BIGINT, DATE, TIME, TIMESTAMP]


def row(kind: SqlType) -> JsonRow:
    # If there is a text column, numbers are read as decimals.
    return JsonRow((Named("A", kind), Named("S", STRING)), wraps=True)


@pytest.mark.parametrize("kind", [*WHOLE, DecimalType(64, 2)], ids=str)
@pytest.mark.parametrize("number", HUGE, ids=lambda text: text[:12])
def test_json(number: str, kind: SqlType) -> None:
    for text in (number, f'"{number}"'):
        with pytest.raises(DecodeError):
            row(kind).decode(f'{{"A": {text}, "S": "x"}}'.encode())
    with pytest.raises(DecodeError):
        JsonRow((Named("A", kind),), wraps=False).decode(number.encode())


@pytest.mark.parametrize("kind", [*WHOLE, DecimalType(64, 2)], ids=str)
@pytest.mark.parametrize("number", HUGE, ids=lambda text: text[:12])
def test_delimited(number: str, kind: SqlType) -> None:
    with pytest.raises(DecodeError):
        DelimitedRow((Named("A", kind), Named("S", STRING)), ",").decode(f"{number},x".encode())


@pytest.mark.parametrize("number", ["1e-999999999999", "0e999999999", "-1e-1000000", "0.0"])
def test_a_tiny_number_is_zero(number: str) -> None:
    for kind in WHOLE:
        assert row(kind).decode(f'{{"A": {number}, "S": "x"}}'.encode()) == (0, "x")


def test_the_largest_and_smallest_are_read() -> None:
    read = reader(BIGINT)
    for number in (2**63 - 1, -(2**63)):
        assert read(str(number)) == number
        assert row(BIGINT).decode(f'{{"A": {number}.9, "S": ""}}'.encode())[0] == number
    assert row(BIGINT).decode(b'{"A": 1.5e3, "S": ""}')[0] == 1_500


@pytest.mark.parametrize(
    ("number", "text"), [("1e1000000", "1E+1000000"), ("1e-1000000", "1E-1000000"), ("1e20", "1E+20")]
)
def test_huge_numbers_stay_short_as_texts(number: str, text: str) -> None:
    assert row(STRING).decode(f'{{"A": {number}, "S": ""}}'.encode())[0] == text


def test_record_with_a_huge_number_goes_to_errors_and_the_job_continues() -> None:
    driven = Driven(
        "CREATE STREAM s (id STRING KEY, n BIGINT, t STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
        "CREATE STREAM o AS SELECT id, n + 1 AS m FROM s;"
    )
    for number in HUGE:
        assert driven.send("in", "k", f'{{"N": {number}}}') == []
    assert len(driven.driver.errors) == len(HUGE)
    assert driven.send("in", "k", {"N": 1}) == [("k", (2,), 0)]
