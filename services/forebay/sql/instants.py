"""Dates, times and timestamps as whole numbers, and as texts that ksqlDB's CAST takes and gives."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

from forebay.sql.arithmetic import within_bits
from forebay.sql.datetimes.days import Day, day_of, length_of_month
from forebay.sql.datetimes.read import parse_time
from forebay.sql.datetimes.write import format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSS"
_CLOCK = "00:00:00.000"
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_DATE = re.compile(r"([0-9]{4}|[+][0-9]{5,9}|-[0-9]{4,9})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?")
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The times that Python's `datetime` holds: the years 1 to 9999."""


def timestamp_of(text: str) -> int:
    """Return the ms since 1970 of a text such as 2020-01-01T10:00:00.5 (in UTC unless it has an offset).

    Raises:
        ValueError: it is no timestamp.
    """
    plain = text.strip()
    if _ISO.fullmatch(plain):
        try:
            result = datetime.fromisoformat(plain)
            return ((result if result.tzinfo else result.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)
        except ValueError:
            pass  # February 30, and 24:00, are times for ksqlDB
    day, mark, clock = plain.partition("T")
    day = day if mark else _complete_day(day)
    at = min((clock.find(sign) for sign in "+-" if sign in clock), default=len(clock))
    clock, zone = clock[:at].removesuffix("Z"), clock[at:] or "UTC"
    # ksqlDB completes a text by its length, so that 10:2 is 10:20.
    return parse_time(f"{day}T{clock}{_CLOCK[len(clock) :]}", _PATTERN, zone)


def _complete_day(day: str) -> str:
    """Return a day with the month and the day of the month that it leaves out."""
    return day + "-01" * max(0, 3 - len(day.split("-")))


def text_of_timestamp(value: int) -> str:
    """Return a timestamp as 2020-01-01T10:00:00.500."""
    if not _FIRST_MS <= value <= _LAST_MS:
        return format_time(value, _PATTERN)
    result = datetime(1970, 1, 1) + timedelta(milliseconds=value)
    return result.isoformat(timespec="milliseconds")


def date_of(text: str) -> int:
    """Return the days since 1970 of a text such as 2020-01-31. Raises ValueError."""
    match = _DATE.fullmatch(_complete_day(text.strip()))
    if match is None:
        raise ValueError(f"{text[:50]!r} is not a date")
    year, month, day = map(int, match.groups())
    if not (1 <= month <= 12 and 1 <= day <= length_of_month(year, month)):
        raise ValueError(f"{text[:50]!r} is not a day of the calendar")
    return within_bits(Day(year, month, day).number, 32)


def text_of_date(value: int) -> str:
    """Return a date as 2020-01-31."""
    year, month, day = day_of(value)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def time_of(text: str) -> int:
    """Return the ms of the day of a text such as 10:00:00. Raises ValueError."""
    plain = text.strip()
    if not _TIME.fullmatch(plain):
        raise ValueError(f"{text[:50]!r} is not a time of day")
    result = time.fromisoformat(plain)
    return ((result.hour * 60 + result.minute) * 60 + result.second) * 1000 + result.microsecond // 1000


def text_of_time(value: int) -> str:
    """Return a time as 10:00, 10:00:05 or 10:00:05.120: as short as it can be."""
    seconds, ms = divmod(value, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or ms:
        text += f":{seconds % 60:02d}"
    return f"{text}.{ms:03d}" if ms else text
