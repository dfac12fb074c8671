"""Days of the proleptic Gregorian calendar in any year. Weeks begin on Sunday, as in the US."""

from __future__ import annotations

from typing import NamedTuple

DAY_MS = 86_400_000
_EPOCH_TO_YEAR_ZERO = 719_468
_ERA_DAYS = 146_097
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Day(NamedTuple):
    """A day by year, month and day of the month."""

    year: int
    month: int
    day: int

    @property
    def number(self) -> int:
        """Number of days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms")."""
        # Years begin in March here, so that the leap day is the last day of a year and needs no special case.
        year = self.year - (self.month <= 2)
        era, of_era = divmod(year, 400)
        of_year = (153 * ((self.month + 9) % 12) + 2) // 5 + self.day - 1
        return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_TO_YEAR_ZERO

    @property
    def of_year(self) -> int:
        """Day of the year, from 1."""
        return self.number - Day(self.year, 1, 1).number + 1


def day_of(number: int) -> Day:
    """Return the day that is a number of days after 1970-01-01."""
    era, of_era = divmod(number + _EPOCH_TO_YEAR_ZERO, _ERA_DAYS)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * of_year + 2) // 153
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = year_of_era + era * 400 + (month <= 2)
    return Day(year, month, of_year - (153 * month_from_march + 2) // 5 + 1)


def is_leap(year: int) -> bool:
    """Return whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def length_of_month(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return 29 if month == 2 and is_leap(year) else _LENGTHS[month - 1]


def weekday(number: int) -> int:
    """Return the day of the week of a day, from 1 for Monday to 7 for Sunday."""
    return (number + 3) % 7 + 1


def day_of_week(number: int) -> int:
    """Return the day of the week of a day, from 1 for Sunday to 7 for Saturday."""
    return weekday(number) % 7 + 1


def first_week(year: int) -> int:
    """Return the first day of the first week of a year, which is the week that contains January 1."""
    first = Day(year, 1, 1).number
    return first - (day_of_week(first) - 1)


def week_year(number: int) -> int:
    """Return the year to which the week of a day belongs."""
    year = day_of(number).year
    # Java's pattern letter Y means this year, which differs from the calendar year in the last days of December.
    return year + 1 if number >= first_week(year + 1) else year


def week_of_month(number: int) -> int:
    """Return the week of the month of a day, from 1."""
    day = day_of(number)
    first = Day(day.year, day.month, 1).number
    return (day.day - 1 + day_of_week(first) - 1) // 7 + 1
