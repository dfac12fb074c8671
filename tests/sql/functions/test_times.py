"""Time patterns follow Java's DateTimeFormatter. The result is null if the text does not match the pattern."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from forebay.sql.types import BIGINT, DATE, STRING, TIME, TIMESTAMP
from tests.sql.driven import Driven, stream
from tests.sql.functions.calls import value_of

DAY = 86_400_000
READ: dict[tuple[str, str], int | None] = {
    ("yyyy-MM-dd'T'HH:mm:ss[.SSS]X", "2024-01-01T00:00:00Z"): 1704067200000,
    ("yyyy-MM-dd'T'HH:mm:ss[.SSS]X", "2024-01-01T00:00:00.123+02"): 1704060000123,
    ("yyyy-MM-dd[ HH:mm]", "2024-01-02"): 1704153600000,
    ("yyyy-MM[-dd[ HH[:mm]]]", "2024-07-03 11:30"): 1720006200000,
    ("[yyyy-MM-dd][MM/dd/yyyy]", "05/06/2024"): 1714953600000,
    ("MMM d, yyyy", "feb 3, 2024"): 1706918400000,
    ("MMM d, yyyy", "Febxyz 3, 2024"): None,
    ("MMM d, yyyy", "February 3, 2024"): None,
    ("MMMM d, yyyy", "February 3, 2024"): 1706918400000,
    ("EEE d MMM yyyy", "Sat 3 Feb 2024"): 1706918400000,
    ("EEE d MMM yyyy", "Mon 3 Feb 2024"): None,
    ("yyyy-MM-dd hh:mm a", "2024-07-03 12:30 AM"): 1719966600000,
    ("yyyy-MM-dd hh:mm a", "2024-07-03 13:30 PM"): None,
    ("yyyy-MM-dd hh:mm", "2024-07-03 11:30"): 1720006200000,
    ("a HH:mm", "AM 13:30"): None,
    ("yyyyMMddHHmmssSSS", "20240703113005123"): 1720006205123,
    ("yyyyMMdd", "2024703"): None,
    ("Hmm", "930"): 34200000,
    ("yyyyMd", "202411"): None,
    ("yyyy-M-d", "2024-07-3"): 1719964800000,
    ("yyyy-MM-dd", "2024-7-3"): None,
    ("yyyy-MM-dd", "2024-02-31"): 1709164800000,
    ("yyyy-MM-dd", "2024-02-32"): None,
    ("yyyy-MM-dd", "2024-13-01"): None,
    ("yyyy-MM-dd", "12024-02-01"): None,
    ("yyyy-MM-dd", "+12024-02-01"): 317276265600000,
    ("yyyy-MM-dd", "0000-01-02"): None,
    ("yyyy-MM-dd", "2024-01-02 "): None,
    ("yyyy-MM-dd", ""): None,
    ("uuuu-MM-dd", "-2024-01-02"): -126038419200000,
    ("yy-MM-dd", "99-02-01"): 4073587200000,
    ("G yyyy-MM-dd", "BC 0044-01-02"): -63524044800000,
    ("HH:mm", "24:00"): 0,
    ("yyyy-MM-dd HH:mm", "2024-07-03 24:00"): 1720051200000,
    ("yyyy-MM-dd HH:mm", "2024-07-03 24:01"): None,
    ("yyyy-MM-dd HH:mm:ss", "2024-01-01 23:59:60"): None,
    ("yyyy-DDD", "2024-366"): 1735603200000,
    ("yyyy-DDD", "2023-366"): None,
    ("DDD", "366"): None,
    ("YYYY-'W'ww-e", "2024-W01-1"): 1703980800000,
    ("ss.n", "10.5"): 10000,
    ("yyyy 'o''clock'", "2024 O'CLOCK"): 1704067200000,
    ("yyyy-MM-dd HH:mm VV", "2024-03-31 02:30 Europe/Berlin"): 1711848600000,
    ("yyyy-MM-dd HH:mm VV", "2024-10-27 02:30 Europe/Berlin"): 1729989000000,
    ("yyyy-MM-dd HH:mm VV", "2024-07-01 00:00 Nowhere/City"): None,
    ("yyyy-MM-dd z", "2024-07-01 PST"): 1719817200000,
    ("yyyy-MM-dd Z", "2024-07-01 +0200"): 1719784800000,
    ("yyyy-MM-dd Z", "2024-07-01 Z"): None,
    ("yyyy-MM-dd XXX", "2024-07-01 +0200"): None,
    ("yyyy-MM-dd O", "2024-07-01 GMT+2"): 1719784800000,
    ("yyyy-MM-dd xxx", "2024-07-01 +19:00"): None,
    ("W", "20"): None,
}


@pytest.mark.parametrize("case", READ)
def test_a_text_as_a_time(case: tuple[str, str]) -> None:
    pattern, text = case
    columns = {"T": (STRING, text), "P": (STRING, pattern)}
    literal = pattern.replace("'", "''")
    for call in (f"PARSE_TIMESTAMP(t, '{literal}')", "STRINGTOTIMESTAMP(t, p)", "PARSE_TIMESTAMP(t, p, 'UTC')"):
        assert value_of(call, columns) == READ[case]


WRITTEN = {
    (1704067200123, "yyyy-MM-dd HH:mm:ss[.SSS]", "UTC"): "2024-01-01 00:00:00.123",
    (
        1704067200123,
        "X XX XXX x xxx Z ZZZZ ZZZZZ O",
        "+05:30",
    ): "+0530 +0530 +05:30 +0530 +05:30 +0530 GMT+05:30 +05:30 GMT+5:30",
    (1704067200123, "X x Z ZZZZ O VV", "UTC"): "Z +00 +0000 GMT GMT UTC",
    (1719792000000, "z VV", "America/Los_Angeles"): "PDT America/Los_Angeles",
    (1719792000000, "VV", "UTC+2"): "UTC+02:00",
    (1704067200123, "E EEEE EEEEE M MM MMM MMMM MMMMM", "UTC"): "Mon Monday M 1 01 Jan January J",
    (1704110400123, "a h hh K KK k kk H", "UTC"): "PM 12 12 0 00 12 12 12",
    (1704067200123, "y yy yyy yyyyy u", "UTC"): "2024 24 2024 02024 2024",
    (1735603200000, "YYYY-MM-dd w D", "UTC"): "2025-12-31 1 366",
    (1704110400123, "S SSSSSS n N A", "UTC"): "1 123000 123000000 43200123000000 43200123",
    (-62198755200000, "yyyy uuuu G", "UTC"): "0002 -0001 BC",
    (253402300800000, "yyyy-MM-dd", "UTC"): "+10000-01-01",
    (-1, "yyyy-MM-dd HH:mm:ss.SSS", "America/New_York"): "1969-12-31 18:59:59.999",
    (0, "yyyy", "Nowhere/City"): None,
    (0, "yyyy", "EST"): None,
}


@pytest.mark.parametrize("case", WRITTEN)
def test_a_time_as_a_text(case: tuple[int, str, str]) -> None:
    at, pattern, zone = case
    columns = {"N": (BIGINT, at), "T": (TIMESTAMP, at), "P": (STRING, pattern), "Z": (STRING, zone)}
    for call in ("TIMESTAMPTOSTRING(n, p, z)", f"FORMAT_TIMESTAMP(t, '{pattern}', '{zone}')"):
        assert value_of(call, columns) == WRITTEN[case]


CALLS: dict[str, Any] = {
    "CONVERT_TZ(ts, 'Europe/Berlin', 'UTC')": 1720062367089,
    "CONVERT_TZ(ts, 'America/New_York', 'Europe/Berlin')": 1720091167089,
    "CONVERT_TZ(ts, 'UTC', 'UTC')": 1720069567089,
    "CONVERT_TZ(ts, '+05:30', 'Z')": 1720069567089 - 19800000,
    "CONVERT_TZ(ts, 'Nowhere/City', 'UTC')": None,
    "CONVERT_TZ(ts, '', 'UTC')": None,
    "CONVERT_TZ(ts, '+19:00', 'UTC')": None,
    "CONVERT_TZ(none, 'UTC', 'UTC')": None,
    "STRINGTODATE('2024-07-03', 'yyyy-MM-dd')": 19907,
    "STRINGTODATE('2024-07', 'yyyy-MM')": None,
    "STRINGTODATE('2024-07-03 25', 'yyyy-MM-dd HH')": None,
    "FORMAT_TIMESTAMP(ts, 'z')": "GMT",
    "FORMAT_TIMESTAMP(ts, 'z', 'UTC')": "UTC",
    "PARSE_TIME('10:30', 'HH:mm')": 37800000,
    "PARSE_TIME('30', 'mm')": None,
    "PARSE_TIME('04:30', 'hh:mm')": None,
    "PARSE_TIME('04:30 PM', 'hh:mm a')": 59400000,
    "PARSE_TIME('4 30', 'H s')": None,
    "PARSE_TIME('4:30.5', 'H:m.S')": None,
    "PARSE_TIME('PM', 'a')": 64800000,
    "PARSE_TIME('5', 'A')": 5,
    "PARSE_TIMESTAMP('PM', 'a')": 64800000,
    "PARSE_TIMESTAMP('PM 30', 'a mm')": 45000000,
    "PARSE_TIME('2024 10', 'yyyy HH')": None,
    "FORMAT_DATE(d, 'dd.MM.yyyy')": "03.07.2024",
    "FORMAT_DATE(d, 'HH')": None,
    "FORMAT_TIME(t, 'HH:mm:ss.SSS')": "10:30:00.000",
    "FORMAT_TIME(t, 'yyyy')": None,
    "FORMAT_TIME(t, 'HH[ yyyy][ mm[ dd]]')": "10 30",
    "DATEADD(DAYS, 2147483647, d)": None,
    "DATEADD(DAYS, -1, d)": 19906,
    "DATESUB(WEEKS, 1, d)": 19900,
    "TIMEADD(HOURS, 20, t)": 23400000,
    "TIMESTAMPADD(DAYS, 1, ts)": 1720069567089 + DAY,
    "TIMESTAMPADD(DAYS, 2147483647, CAST('+292278000' AS TIMESTAMP))": None,
    "TIMESTAMPADD(DAYS, CAST(NULL AS INT), ts)": None,
}


@pytest.mark.parametrize("call", CALLS)
def test_results_of_time_functions(call: str) -> None:
    columns = {"TS": (TIMESTAMP, 1720069567089), "NONE": (TIMESTAMP, None), "D": (DATE, 19907), "T": (TIME, 37800000)}
    assert value_of(call, columns) == CALLS[call]


@pytest.mark.parametrize(
    "pattern",
    ["l", "yyyy-bb", "HHH", "MMMMMM", "aa", "V", "VVV", "OO", "cc", "yyyy ''T'", "yyyy]", "{yyyy}", "yyyy#MM", "zzzz"],
)
@pytest.mark.parametrize("call", ["TIMESTAMPTOSTRING(0, {})", "PARSE_TIMESTAMP(t, {})"])
def test_a_pattern_that_means_nothing_is_refused_with_its_place(pattern: str, call: str) -> None:
    literal = "'" + pattern.replace("'", "''") + "'"
    with pytest.raises(SqlError, match=f"{call.partition('(')[0]}: the .*pattern"):
        value_of(call.format(literal), {"T": (STRING, "text")})


CASTS: dict[tuple[str, str], Any] = {
    ("TIMESTAMP", "2024-07"): 1719792000000,
    ("TIMESTAMP", " 2024-07-03T10 "): 1720000800000,
    ("TIMESTAMP", "2024-07-03T10:2"): 1720002000000,
    ("TIMESTAMP", "2024-07-03T10:20:30.5Z"): 1720002030500,
    ("TIMESTAMP", "2024-07-03T10:20:30.123-0530"): 1720021830123,
    ("TIMESTAMP", "2024-07-03T24:00"): 1720051200000,
    ("TIMESTAMP", "2024-02-31"): 1709164800000,
    ("TIMESTAMP", "+12024"): 317273587200000,
    ("TIMESTAMP", "20240703"): None,
    ("TIMESTAMP", "2024T10"): None,
    ("TIMESTAMP", "2024-07-03T25"): None,
    ("TIMESTAMP", ""): None,
    ("DATE", "2024"): 19723,
    ("DATE", "2024-07-03"): 19907,
    ("DATE", "-0001-01-02"): -719892,
    ("DATE", "+12024-07-03"): 3672332,
    ("DATE", "2024-02-30"): None,
    ("DATE", "2024-07-03T10:20"): None,
    ("DATE", "20240703"): None,
    ("TIME", "10:20"): 37200000,
    ("TIME", "10:20:30.123456789"): 37230123,
    ("TIME", "10"): None,
    ("TIME", "2024-07"): None,
    ("TIME", "T10:20"): None,
    ("TIME", "10:20Z"): None,
    ("TIME", "24:00"): None,
}


@pytest.mark.parametrize("case", CASTS)
def test_a_text_is_cast_as_ksqldb_completes_it(case: tuple[str, str]) -> None:
    kind, text = case
    assert value_of(f"CAST(t AS {kind})", {"T": (STRING, text)}) == CASTS[case]


def test_dates_beyond_four_digits_are_written_with_a_sign() -> None:
    columns = {"D": (DATE, 3672332), "E": (DATE, -719892), "T": (TIMESTAMP, 317289484800000)}
    texts = ["CAST(d AS STRING)", "CAST(e AS STRING)", "CAST(t AS STRING)"]
    assert [value_of(text, columns) for text in texts] == ["+12024-07-03", "-0001-01-02", "+12024-07-03T00:00:00.000"]


def test_optional_parts_in_timestamp_format() -> None:
    driven = Driven(
        "CREATE STREAM s (id STRING KEY, ts STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', TIMESTAMP='ts', "
        "TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm:ss[.SSS]'); CREATE STREAM t AS SELECT id, ts FROM s;"
    )
    texts = ["2024-01-01 00:00:00", "2024-01-01 00:00:00.123"]
    assert [driven.send("in", "k", {"TS": text})[0][2] for text in texts] == [1704067200000, 1704067200123]


def test_optional_parts_cost_no_more_than_the_text_is_long() -> None:
    columns = {"T": (STRING, "a" * 40 + "b"), "P": (STRING, "['a']" * 60)}
    assert value_of("PARSE_TIMESTAMP(t, p)", columns) is None
    assert value_of("PARSE_TIMESTAMP(t, p)", {**columns, "P": (STRING, "yyyy" * 1_000)}) is None


@pytest.mark.parametrize("day", ["+999999999-01-01", "-999999999-12-31"])
@pytest.mark.parametrize("clause", ["WHERE ROWTIME > {}", "WHERE {} <= ROWTIME", "WHERE ROWTIME BETWEEN 0 AND {}"])
def test_a_time_beyond_all_timestamps_is_refused_with_its_place(clause: str, day: str) -> None:
    text = f"{stream('n INT')}CREATE STREAM o AS SELECT * FROM s {clause.format(repr(day))};"
    with pytest.raises(SqlError, match=r"line \d+, column \d+: .* is not a time: write 2020-01-31T10:00:00"):
        program_of(text)
