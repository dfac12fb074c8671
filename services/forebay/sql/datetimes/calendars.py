"""Conversion of fields to a time as in Java's lenient `GregorianCalendar`, where month 13 is January of the next year.

Fields have the letters of patterns as keys, in the order in which they were set: G, y, M (1 to 12), d, D, w, W, E (1
for Sunday), F (number of the weekday's occurrence in the month), a, h (0 to 11), H, m, s, S, X (an offset in ms).
"""

from __future__ import annotations

from collections.abc import Mapping

from forebay.sql.datetimes.days import DAY_MS, Day

_CUTOVER = Day(1582, 10, 15).number
"""First day of the Gregorian calendar. Earlier days have Julian dates."""
_JULIAN_TO_YEAR_ZERO = 719_470


def time_of_calendar(fields: Mapping[str, int]) -> int:
    """Return the time in ms since 1970. Missing fields have their values of 1970-01-01 00:00."""
    number, ms = divmod(_ms_of_day(fields), DAY_MS)
    year, which = fields.get("y", 1970), _day_field(fields)
    if fields.get("G", 1) == 0:
        year = 1 - year
    # Java computes the date in both calendars, and uses the Gregorian date if this calendar was in use on that day.
    by_gregorian = number + _day_number(fields, year, which, julian=False)
    by_year_of_change = year == 1582 and which in "Dw"
    if year < 1582 or by_year_of_change or by_gregorian < _CUTOVER:
        number += _day_number(fields, year, which, julian=True)
    else:
        number = by_gregorian
    return number * DAY_MS + ms - fields.get("X", 0)


def _ms_of_day(fields: Mapping[str, int]) -> int:
    order = _order(fields)
    # If there are two hour fields, the later field is used. An hour from 0 to 11 also needs the half of the
    # day.
    in_half = max(order["h"], order["a"]) if "h" in order and "a" in order else 0
    is_of_day = "H" in order and order["H"] > in_half
    hour = fields["H"] if is_of_day else fields.get("h", 0) + 12 * fields.get("a", 0)
    minute, second = fields.get("m", 0), fields.get("s", 0)
    return ((hour * 60 + minute) * 60 + second) * 1000 + fields.get("S", 0)


def _order(fields: Mapping[str, int]) -> dict[str, int]:
    return {letter: at for at, letter in enumerate(fields, 1)}


def _day_field(fields: Mapping[str, int]) -> str:
    """Return the field that determines the day, which is the complete one that was set last."""
    order = _order(fields)
    of_week = order.get("E", 0)
    at = {letter: order.get(letter, 0) for letter in "dDwWF"}
    sets = {letter: max(at[letter], of_week) if at[letter] and of_week else 0 for letter in "wWF"}
    sets |= {letter: at[letter] for letter in "dD"}
    latest = max(sets.values())
    if not latest:
        sets |= {"w": at["w"], "W": at["W"], "F": max(at["F"], of_week)}
        latest = max(sets.values())
    if sets["d"] == latest:
        return "d"
    for letter in "WF":
        # A week of the month and a week of the year have the same day of the week. The week that was set later is used.
        if sets[letter] == latest and at[letter] >= at["w"]:
            other = {"W": "F", "F": "W"}[letter]
            return other if sets[other] == latest and (at[other], other) > (at[letter], letter) else letter
    return "D" if sets["D"] == latest else "w"


def _day_number(fields: Mapping[str, int], year: int, which: str, *, julian: bool) -> int:
    """Return the number of days since 1970 in one of the two calendars."""
    years, month_from_0 = divmod(fields.get("M", 1) - 1, 12) if which in "dWF" else (0, 0)
    first = (_julian_number if julian else _number)(year + years, month_from_0 + 1)
    of_week = fields.get("E", 1)
    match which:
        case "d" | "D":
            return first + fields.get(which, 1) - 1
        case "F":
            nth = fields.get("F", 1)
            return _on_or_before(first + 7 * nth - 1, of_week)
        case _:
            week = _on_or_before(first, 1)
            return _on_or_before(week + 6, of_week) + 7 * (fields[which] - 1)


def _on_or_before(number: int, of_week: int) -> int:
    """Return the latest day with a day of the week (1 for Sunday) that is not after a day."""
    return number - (number + 5 - of_week) % 7


def _number(year: int, month: int) -> int:
    return Day(year, month, 1).number


def _julian_number(year: int, month: int) -> int:
    """Return the first day of a month in the Julian calendar, in which every fourth year is a leap year."""
    year -= month <= 2
    return year * 1461 // 4 + (153 * ((month + 9) % 12) + 2) // 5 - _JULIAN_TO_YEAR_ZERO
