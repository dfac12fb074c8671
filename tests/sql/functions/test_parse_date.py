"""PARSE_DATE parses dates like ksqlDB, which uses `FastDateFormat` of Commons Lang."""

from __future__ import annotations

import time

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.types import STRING
from tests.sql.functions.calls import value_of

READ = {
    ("yyyy-MM-dd", "2024-7-3"): 19907,
    ("yyyyMMdd", "20240703"): 19907,
    ("yyyyMMdd", "2024 703"): None,
    ("yyyyMMdd", "202407031"): 19935,
    ("yy", " 5"): 12784,
    ("yy-MM-dd", "5-01-01"): 12784,
    ("yy-MM-dd", "005-01-01"): 12784,
    ("yyyy-MM-dd", "5-01-01"): -717703,
    ("yyyy-MM-dd", "-5-01-01"): None,
    ("yyyy-MM-dd", "2024-07-32"): 19936,
    ("yyyy-MM-dd S", "2024-07-03 86400000"): 19908,
    ("yyyy-MM-dd S", "2024-07-03 1"): None,
    ("yyyy-MM-dd HH:mm:ss.SSS", "2024-07-03 23:59:59.1000"): 19908,
    ("yyyy-MM-dd hh a", "2024-07-03 12 am"): 19907,
    ("yyyy-MM-dd hh a", "2024-07-03 12 PM"): None,
    ("yyyy-MM-dd KK a", "2024-07-03 36 P"): 19909,
    ("yyyy-MM-dd kk", "2024-07-03 24"): 19907,
    ("yyyy-MM-dd kk", "2024-07-03 48"): 19909,
    ("yyyy-MM-dd a", "2024-07-03 AM"): 19907,
    ("yyyy-MM-dd'T'HH:mmX", "2024-07-03T00:00Z"): 19907,
    ("yyyy-MM-dd'T'HH:mmXXX", "2024-07-03T02:00+02:00"): 19907,
    ("yyyy-MM-dd HH z", "2024-07-03 00 GMT"): 19907,
    ("yyyy-MM-dd HH z", "2024-07-02 17 PDT"): 19907,
    ("yyyy-MM-dd HH Z", "2024-07-03 01 +0100"): 19907,
    ("yyyy-MM-dd HH z", "2024-07-03 01 GMT+1:00"): 19907,
    ("yyyy-MM-dd HH X", "2024-07-03 01 +01"): 19907,
    ("yyyy-MM-dd EEE", "2024-07-03 Wednesday"): 19907,
    ("yyyy-MM-dd EEE", "2024-07-03 Monday"): None,  # ksqlDB ignores the name
    ("EEE d MMM yyyy", "Sat 3 Feb 2024"): 19756,
    ("EEE d MMM yyyy", "Mon 3 Feb 2024"): None,
    ("EEE yyyy DDD", "Wed 2024 185"): 19907,
    ("EEE yyyy DDD", "Thu 2024 185"): None,
    ("EEE yyyy-MM-dd HH X", "Wed 2024-07-03 01 +01"): 19907,
    ("EEE yyyy-MM-dd HH X", "Tue 2024-07-02 23 -01"): 19907,
    ("EEE yyyy-MM-dd", "Fri 2024-02-30"): 19783,
    ("yyyy-MM-dd u", "2024-07-03 9"): 19907,
    ("EEE, dd MMM yyyy", "wednesday, 3 july 2024"): 19907,
    ("YYYY-ww u", "2024-27 3"): 19907,
    ("yyyy ww", "2024 27"): 19904,
    ("yyyy-MM W E", "2024-07 1 Wed"): 19907,
    ("yyyy-MM F E", "2024-07 1 Wed"): 19907,
    ("yyyy-MM E", "2024-07 Wed"): 19907,
    ("yyyy DDD", "2024 185"): 19907,
    ("yyyy-MM-dd DDD", "2024-07-03 1"): 19723,
    ("DDD yyyy-MM-dd", "1 2024-07-03"): 19907,
    ("yyyy-MM-dd G", "45-03-15 BC"): -735527,
    ("yyyy-MM-dd", "1582-10-15"): -141427,
    ("yyyy-MM-dd", "1582-10-14"): -141418,
    ("yyyy-MM-dd", "1582-10-04"): -141428,
    ("yyyy-MM-dd", "1500-02-29"): -171596,
    ("yyyy DDD", "1582 300"): -141405,
    ("yyyy-MM-dd", "0000-01-01"): -719530,
    ("yyyy''MM'x'dd", "2024'07x03"): 19907,
    ("yyyy-MM-dd Z", "2024-07-03 +2500"): None,
    ("yyyy-MM-dd", "٢٠٢٤-07-03"): 19907,
    ("yyyy-MM-dd", " 2024-07-03"): 19907,
    ("[yyyy-MM-dd]", "[2024-07-03]"): 19907,
    ("[yyyy-MM-dd]", "2024-07-03"): None,
    ("yyyy-MM-dd", "2024-07-03 and more"): 19907,
    ("MMM d, yyyy", "Foo 3, 2024"): None,
    ("yyyy-MM-dd", "99999999999-01-01"): None,
    ("yyyy-MM-dd", "9999999-01-01"): None,
}
"""Days by pattern and text, computed with FastDateFormat on Java 17, or None if ksqlDB reports an error."""


@pytest.mark.parametrize(("pattern", "text"), READ)
def test_a_date_is_read_as_by_java(pattern: str, text: str) -> None:
    columns = {"P": (STRING, pattern), "T": (STRING, text)}
    assert value_of("PARSE_DATE(t, p)", columns) == READ[pattern, text]


def test_two_digit_year_is_within_80_years_before_and_19_after_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((2026, 1, 1, 0, 0, 0, 0, 1, 0)))
    years = {"46": 1946, "70": 1970, "99": 1999, "00": 2000, "26": 2026, "45": 2045, "2001": 2001, "7": 2007}
    for text, year in years.items():
        wanted = value_of(f"PARSE_DATE('{year}-02-03', 'yyyy-MM-dd')")
        assert value_of(f"PARSE_DATE('{text}-02-03', 'yy-MM-dd')") == wanted
    assert value_of("PARSE_TIMESTAMP('70-02-03', 'yy-MM-dd')") == 3158611200000


@pytest.mark.parametrize("pattern", ["n", "yyyy QQQ", "VV", "yyyy[xxx]"])
def test_letters_that_simple_date_format_lacks_are_refused(pattern: str) -> None:
    with pytest.raises(SqlError, match="PARSE_DATE has no letter"):
        value_of(f"PARSE_DATE(t, '{pattern}')", {"T": (STRING, "text")})


@pytest.mark.parametrize(("pattern", "reason"), [("yyyy'", "a quote"), ("XXXX", "X is there 4"), ("d" * 501, "501")])
def test_a_pattern_that_means_nothing_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        value_of(f"PARSE_DATE(t, '{pattern.replace(chr(39), chr(39) * 2)}')", {"T": (STRING, "text")})
