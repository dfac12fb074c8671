"""Dates, times and timestamps as whole numbers, and as texts."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
DAY_MS = 86_400_000
_SHAPE = re.compile(
    r"[+-]?[0-9]{4,}(-[0-9]{2}){0,2}"
    r"([T ]([0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)


def timestamp_of(text: str) -> int:
    """Return the ms since 1970 of a text such as 2020-01-01T10:00:00.5 (in UTC unless it has an offset).

    Raises:
        ValueError: it is no timestamp.
    """
    result = datetime.fromisoformat(_complete(text))
    if result.tzinfo is None:
        result = result.replace(tzinfo=UTC)
    return (result - _EPOCH) // timedelta(milliseconds=1)


def _complete(text: str) -> str:
    """Return the text with what it leaves out: a month, a day, minutes."""
    if not _SHAPE.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is no time")
    day, mark, clock = text.strip().partition("T")
    day += "-01" * (2 - day.count("-")) if not day.startswith("-") else ""
    if not mark or not clock:
        return day
    zone = ""
    for sign in ("+", "-", "Z"):
        at = clock.find(sign)
        if at >= 0:
            clock, zone = clock[:at], clock[at:]
            break
    clock += ":00" * (1 - clock.count(":")) if ":" not in clock and clock else ""
    return f"{day}T{clock}{'+00:00' if zone == 'Z' else zone}" if clock else day


def text_of_timestamp(value: int) -> str:
    """Return a timestamp as 2020-01-01T10:00:00.500."""
    result = _EPOCH + timedelta(milliseconds=value)
    return f"{result.replace(tzinfo=None).isoformat(timespec='seconds')}.{value % 1000:03d}"


def date_of(text: str) -> int:
    """Return the days since 1970 of a text such as 2020-01-31. Raises ValueError."""
    return (date.fromisoformat(_complete(text.partition("T")[0])) - _FIRST_DAY).days


def text_of_date(value: int) -> str:
    """Return a date as 2020-01-31."""
    return (_FIRST_DAY + timedelta(days=value)).isoformat()


def time_of(text: str) -> int:
    """Return the ms of the day of a text such as 10:00:00. Raises ValueError."""
    result = time.fromisoformat(text.strip())
    return ((result.hour * 60 + result.minute) * 60 + result.second) * 1000 + result.microsecond // 1000


def text_of_time(value: int) -> str:
    """Return a time as 10:00, 10:00:05 or 10:00:05.120: as short as it can be."""
    seconds, ms = divmod(value, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or ms:
        text += f":{seconds % 60:02d}"
    return f"{text}.{ms:03d}" if ms else text
