"""Formatting of times by Java's patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from forebay.sql.datetimes.days import (
    DAY_MS,
    Day,
    day_of,
    day_of_week,
    first_week,
    week_of_month,
    week_year,
    weekday,
)
from forebay.sql.datetimes.patterns import (
    DATE_LETTERS,
    DAYS,
    MONTHS,
    TIME_LETTERS,
    ZONE_LETTERS,
    Field,
    Part,
    Section,
    Text,
    letters_of,
    parts_of,
)
from forebay.sql.datetimes.zones import UTC_ZONE, Zone, shown_offset, zone_of


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in a time zone."""

    ms: int
    zone: Zone
    offset: int
    number: int
    day: Day
    ms_of_day: int


Write = Callable[[Moment], str]
_ALL_LETTERS = DATE_LETTERS | TIME_LETTERS | ZONE_LETTERS


def format_time(value: int, pattern: str, zone: str = "UTC") -> str:
    """Return a timestamp (ms) as text. Raises ValueError."""
    return _written(value, pattern, UTC_ZONE if zone == "UTC" else zone_of(zone))


def formatted_date(days: int, pattern: str) -> str:
    """Return a date as text. Raises ValueError if the pattern contains a time or a zone."""
    return _written(days * DAY_MS, pattern, UTC_ZONE, DATE_LETTERS, "a DATE")


def formatted_time(ms: int, pattern: str) -> str:
    """Return a time of day as text. Raises ValueError if the pattern contains a date, or the time is out of range."""
    if not 0 <= ms < DAY_MS:
        raise ValueError(f"{ms} is not a time of day")
    return _written(ms, pattern, UTC_ZONE, TIME_LETTERS, "a TIME")


def _written(ms: int, pattern: str, zone: Zone, allowed: frozenset[str] = _ALL_LETTERS, kind: str = "") -> str:
    offset = zone.offset_at(ms)
    number, ms_of_day = divmod(ms + offset * 1000, DAY_MS)
    moment = Moment(ms, zone, offset, number, day_of(number), ms_of_day)
    return "".join([write(moment) for write in _writers(pattern, allowed, kind)])


@lru_cache(1024)
def _writers(pattern: str, allowed: frozenset[str], kind: str) -> tuple[Write, ...]:
    parts = parts_of(pattern)
    wrong = letters_of([part for part in parts if not isinstance(part, Section)]) - allowed
    if wrong:
        raise ValueError(f"{kind} has nothing for {', '.join(sorted(wrong))} in the pattern {pattern!r}")
    return tuple(_flat(parts, allowed))


def _flat(parts: Iterable[Part], allowed: frozenset[str]) -> list[Write]:
    """Return functions that write the parts. As in Java, a section with a field that is not allowed is skipped."""
    writes: list[Write] = []
    for part in parts:
        match part:
            case Text(text):
                writes.append(lambda _, text=text: text)  # type: ignore[misc]
            case Section(inside):
                if letters_of([item for item in inside if not isinstance(item, Section)]) <= allowed:
                    writes += _flat(inside, allowed)
            case Field(letter, count):
                writes.append(_zone(letter, count) if letter in ZONE_LETTERS else _field(part))
    return writes


def _field(field: Field) -> Write:
    letter, count = field.letter, field.count
    if letter in "uyY":
        return _year(letter, count)
    if letter == "S":
        return lambda m: f"{m.ms_of_day % 1000:03d}".ljust(9, "0")[:count]
    if field.is_text:
        return _words(letter, count)
    value = _NUMBERS[letter]
    width = 1 if letter in "ec" else count
    return lambda m: f"{value(m):0{width}d}" if letter not in "ec" or count < 2 else f"{value(m):02d}"


def _year(letter: str, count: int) -> Write:
    def year(m: Moment) -> int:
        year_number = week_year(m.number) if letter == "Y" else m.day.year
        return 1 - year_number if letter == "y" and year_number <= 0 else year_number

    if count == 2:
        return lambda m: f"{year(m) % 100:02d}"

    def write(m: Moment) -> str:
        number = year(m)
        sign = "-" if number < 0 else "+" if count >= 4 and len(str(number)) > count else ""
        return f"{sign}{abs(number):0{count}d}"

    return write


_NUMBERS: dict[str, Callable[[Moment], int]] = {
    "M": lambda m: m.day.month,
    "L": lambda m: m.day.month,
    "d": lambda m: m.day.day,
    "D": lambda m: m.day.of_year,
    "Q": lambda m: (m.day.month + 2) // 3,
    "q": lambda m: (m.day.month + 2) // 3,
    "w": lambda m: (m.number - first_week(week_year(m.number))) // 7 + 1,
    "W": lambda m: week_of_month(m.number),
    "e": lambda m: day_of_week(m.number),
    "c": lambda m: day_of_week(m.number),
    "H": lambda m: m.ms_of_day // 3_600_000,
    "k": lambda m: (m.ms_of_day // 3_600_000 - 1) % 24 + 1,
    "K": lambda m: m.ms_of_day // 3_600_000 % 12,
    "h": lambda m: (m.ms_of_day // 3_600_000 - 1) % 12 + 1,
    "m": lambda m: m.ms_of_day // 60_000 % 60,
    "s": lambda m: m.ms_of_day // 1000 % 60,
    "n": lambda m: m.ms_of_day % 1000 * 1_000_000,
    "N": lambda m: m.ms_of_day * 1_000_000,
    "A": lambda m: m.ms_of_day,
}


def _words(letter: str, count: int) -> Write:
    """Return a function that writes a field as a word, which is long for four letters, and one letter for five."""

    def cut(word: str) -> str:
        return word if count == 4 else word[0] if count == 5 else word[:3]

    match letter:
        case "M" | "L":
            return lambda m: cut(MONTHS[m.day.month - 1])
        case "E" | "e" | "c":
            return lambda m: cut(DAYS[weekday(m.number) - 1])
        case "a":
            return lambda m: "AM" if m.ms_of_day < DAY_MS // 2 else "PM"
        case "G":
            names = {4: ("Before Christ", "Anno Domini"), 5: ("B", "A")}.get(count, ("BC", "AD"))
            return lambda m: names[m.day.year > 0]
    quarter = _NUMBERS["Q"]
    ordinals = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
    if count == 4:
        return lambda m: ordinals[quarter(m) - 1]
    return lambda m: f"{'Q' if count == 3 else ''}{quarter(m)}"


def _zone(letter: str, count: int) -> Write:
    match letter:
        case "V":
            return lambda m: m.zone.name
        case "z":
            return lambda m: m.zone.short_name_at(m.ms)
        case "O":
            return _localize(short=count == 1)
        case "Z" if count < 4:
            return lambda m: shown_offset(m.offset, "", seconds=False)
        case "Z" if count == 4:
            return _localize(short=False)
    zero = "" if letter == "x" else "Z"
    colon = ":" if count in (3, 5) else ""
    minutes, seconds = count > 1, count > 3
    return lambda m: shown_offset(m.offset, colon, minutes=minutes, seconds=seconds, zero=zero)


def _localize(*, short: bool) -> Write:
    def write(m: Moment) -> str:
        if not m.offset:
            return "GMT"
        text = shown_offset(m.offset, minutes=not short)
        return "GMT" + (text[0] + text[1:].removeprefix("0") if short else text)

    return write
