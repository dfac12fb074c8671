"""Conversion of a text's fields to a time by the rules of Java's SMART resolution. Contradicting fields are an error.

Fields have the letters of patterns as keys: y, u, G, M, d, D, E (1 for Monday), Y, w, H, h (0 to 11), a, m, s, n, N, A,
V (name of a zone), X (an offset).
"""

from __future__ import annotations

from forebay.sql.datetimes.days import DAY_MS, Day, day_of, first_week, is_leap, length_of_month, weekday
from forebay.sql.datetimes.zones import Zone, offset_of_text, zone_of_text

_MOST_YEARS = 999_999_999
_RANGES = {
    "M": (1, 12),
    "d": (1, 31),
    "D": (1, 366),
    "w": (1, 53),
    "W": (0, 6),
    "H": (0, 24),
    "m": (0, 59),
    "s": (0, 59),
    "n": (0, 999_999_999),
    "N": (0, DAY_MS * 1_000_000 - 1),
    "A": (0, DAY_MS - 1),
    "y": (1, _MOST_YEARS),
    "u": (-_MOST_YEARS, _MOST_YEARS),
    "Y": (-_MOST_YEARS, _MOST_YEARS),
}
Fields = dict[str, str]


def resolve_time(fields: Fields, zone: Zone) -> int:
    """Return the time in ms since 1970. Missing fields have their values of 1970-01-01 00:00. Raises ValueError."""
    if "V" in fields:
        zone = zone_of_text(fields["V"])
    number = date_of(fields)
    ms, days = ms_of_day(fields)
    ms += (_partial_date(fields) if number is None else number + days) * DAY_MS
    offset = offset_of_text(fields["X"]) if "X" in fields else zone.offset_of_clock(ms // 1000)
    return ms - offset * 1000


def date_of(fields: Fields) -> int | None:
    """Return the date in days since 1970, or None if the fields are not sufficient. Raises ValueError."""
    year = _year(fields)
    month, day, of_year = (_number(fields, item) for item in "MdD")
    number = None
    if year is not None and month is not None and day is not None:
        # By Java's SMART resolution, February 31 is the last day of February and not an error.
        number = Day(year, month, min(day, length_of_month(year, month))).number
        if of_year is not None and day_of(number).of_year != of_year:
            raise ValueError("the day of the year contradicts the date")
    elif year is not None and of_year is not None:
        if of_year == 366 and not is_leap(year):
            raise ValueError(f"the year {year} has 365 days")
        number = Day(year, 1, 1).number + of_year - 1
        if month is not None and day_of(number).month != month:
            raise ValueError("the day of the year is in another month")
    week_year, week, of_week = _number(fields, "Y"), _number(fields, "w"), fields.get("E")
    if week_year is not None and week is not None and of_week is not None:
        by_week = first_week(week_year) + (week - 1) * 7 + int(of_week) % 7
        if number is not None and number != by_week:
            raise ValueError("the day of the week contradicts the date")
        number = by_week
    if number is not None and of_week is not None and weekday(number) != int(of_week):
        raise ValueError("the day of the week contradicts the date")
    return number


def _year(fields: Fields) -> int | None:
    year, of_era = _number(fields, "u"), _number(fields, "y")
    if of_era is not None:
        by_era = 1 - of_era if fields.get("G") == "0" else of_era
        if year is not None and year != by_era:
            raise ValueError("the years contradict each other")
        year = by_era
    return year


def _partial_date(fields: Fields) -> int:
    """Return 1970-01-01 with the fields there are, as days since then. Raises ValueError."""
    day = Day(1970, 1, 1)
    year = _year(fields)
    if year is not None:
        day = Day(year, 1, 1)
    month = _number(fields, "M")
    if month is not None:
        day = Day(day.year, month, 1)
    number = day.number
    if "E" in fields:
        number += int(fields["E"]) - weekday(number)
        day = day_of(number)
    of_month, of_year = _number(fields, "d"), _number(fields, "D")
    if of_month is not None:
        if of_month > length_of_month(day.year, day.month):
            raise ValueError(f"the month {day.month} has no day {of_month}")
        number = Day(day.year, day.month, of_month).number
    if of_year is not None:
        if of_year == 366 and not is_leap(day.year):
            raise ValueError("a year without a leap day has 365 days")
        number = Day(day.year, 1, 1).number + of_year - 1
    return number


def ms_of_day(fields: Fields) -> tuple[int, int]:
    """Return the time of day in ms, and 1 if it is the end of the day, 24:00. Raises ValueError."""
    minute, second, nano = (_number(fields, item) or 0 for item in "msn")
    of_day = _number(fields, "N")
    if of_day is not None:
        return of_day // 1_000_000, 0
    milli = _number(fields, "A")
    if milli is not None:
        return milli, 0
    hour = _hour(fields)
    if hour == 24:
        if minute or second or nano:
            raise ValueError("24:00 is the end of the day: there is no later time")
        return 0, 1
    return ((hour * 60 + minute) * 60 + second) * 1000 + nano // 1_000_000, 0


def _hour(fields: Fields) -> int:
    hour = _number(fields, "H")
    half = int(fields["a"]) if "a" in fields else None
    in_half = int(fields["h"]) if "h" in fields else None
    if hour is None:
        if half is not None and in_half is None and not fields.keys() & {"m", "s", "n"}:
            return 6 + 12 * half  # the middle of the half
        return (in_half or 0) + 12 * (half or 0)
    if (half is not None and hour // 12 != half) or (in_half is not None and hour % 12 != in_half):
        raise ValueError("the hours contradict each other")
    return hour


def _number(fields: Fields, letter: str) -> int | None:
    text = fields.get(letter)
    if text is None:
        return None
    low, high = _RANGES[letter]
    number = int(text)
    if not low <= number <= high:
        raise ValueError(f"{text} is not a value of {letter}")
    return number
