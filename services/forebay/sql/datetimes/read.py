"""Parsing of times by Java's patterns. A text that does not fit its pattern is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from forebay.sql.arithmetic import within_bits
from forebay.sql.datetimes.patterns import (
    DATE_LETTERS,
    DAYS,
    MONTHS,
    TIME_LETTERS,
    Field,
    Part,
    Section,
    Text,
    letters_of,
    parts_of,
)
from forebay.sql.datetimes.resolve import date_of, ms_of_day, resolve_time
from forebay.sql.datetimes.zones import UTC_ZONE, zone_of

_MOST_DIGITS = 19
_OFFSETS = {
    1: r"[+-]\d\d(?:\d\d)?",
    2: r"[+-]\d{4}",
    3: r"[+-]\d\d:\d\d",
    4: r"[+-]\d{4}(?:\d\d)?",
    5: r"[+-]\d\d:\d\d(?::\d\d)?",
}
_GMT = r"GMT(?:[+-]\d\d:\d\d(?::\d\d)?)?"
_SHORT_GMT = r"GMT(?:[+-]\d{1,2}(?::\d\d(?::\d\d)?)?)?"
_ZONE = (
    r"[+-]\d\d(?::?\d\d(?::?\d\d)?)?|(?:UTC|GMT|UT)[+-]\d\d(?::?\d\d(?::?\d\d)?)?|"
    r"(?!(?:UTC|GMT|UT)[+-])[A-Za-z][A-Za-z0-9~/._-]*+(?:\+\d+)?"
)


@dataclass(frozen=True, slots=True)
class Reader:
    """A pattern as a regular expression.

    Args:
        fields: Fields of the groups in their order.
    """

    regex: re.Pattern[str]
    fields: tuple[Field, ...]

    def fields_of(self, text: str) -> dict[str, str]:
        """Return the texts of the fields by letter, with words as numbers. Raises ValueError for other texts."""
        match = self.regex.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} does not have the pattern")
        fields: dict[str, str] = {}
        for field, value in zip(self.fields, match.groups(), strict=True):
            if value is None:
                continue
            letter, shown = _normal(field, value)
            if fields.setdefault(letter, shown) != shown and fields[letter].lstrip("0") != shown.lstrip("0"):
                raise ValueError(f"{text!r} has two values for {field.letter}")
        return fields


def parse_time(text: str, pattern: str, zone: str = "UTC") -> int:
    """Return the timestamp (ms) of a text. Missing fields have their values of 1970. Raises ValueError."""
    result = resolve_time(reader_of(pattern).fields_of(text), UTC_ZONE if zone == "UTC" else zone_of(zone))
    return within_bits(result, 64)


def parsed_day(text: str, pattern: str) -> int:
    """Return the days since 1970 of a text that has year, month and day. Raises ValueError."""
    fields = reader_of(pattern).fields_of(text)
    ms_of_day(fields)  # the time of day is left out, but must be one
    date = date_of(fields)
    if date is None:
        raise ValueError(f"{text!r} leaves the year, the month or the day out")
    return within_bits(date, 32)


def parsed_time(text: str, pattern: str) -> int:
    """Return the time of day (ms) of a text. Raises ValueError if it has a date or no hour."""
    if letters_of(parts_of(pattern)) & DATE_LETTERS:
        raise ValueError(f"the pattern {pattern!r} has a date")
    fields = reader_of(pattern).fields_of(text)
    known = fields.keys() & {"H", "h", "a", "m", "s", "n"}
    has_hour = "H" in known or known >= {"h", "a"} or known == {"a"}
    has_gap = ("s" in known and "m" not in known) or ("n" in known and not known >= {"m", "s"})
    if not fields.keys() & {"N", "A"} and (not has_hour or has_gap):
        raise ValueError(f"{text!r} has no hour, or leaves out a minute or second")
    return ms_of_day(fields)[0]


@lru_cache(1024)
def reader_of(pattern: str) -> Reader:
    """Return a reader of texts in a pattern. Raises ValueError for an invalid pattern."""
    fields: list[Field] = []
    regex = _expected_text(parts_of(pattern), fields)
    return Reader(re.compile(regex, re.IGNORECASE | re.ASCII), tuple(fields))


def parser(pattern: str) -> Callable[[str], int]:
    """Return a function that parses timestamps in a pattern. Raises ValueError for an invalid pattern."""
    reader_of(pattern)
    return lambda text: parse_time(text, pattern)


def _expected_text(parts: tuple[Part, ...], fields: list[Field]) -> str:
    pattern_text = ""
    for at, part in enumerate(parts):
        match part:
            case Text(text):
                pattern_text += re.escape(text)
            case Section(inside):
                pattern_text += f"(?:{_expected_text(inside, fields)})?+"  # Java never takes one back
            case Field():
                fields.append(part)
                pattern_text += f"({_field(part, _digits_behind(parts, at + 1))})"
    return pattern_text


def _digits_behind(parts: tuple[Part, ...], at: int) -> int | None:
    """Return how many digits the fields of fixed width take that follow at once; None: no number follows."""
    reserved = 0
    for part in parts[at:]:
        if not isinstance(part, Field) or part.is_text or part.letter not in DATE_LETTERS | TIME_LETTERS:
            break
        is_fixed = part.count == (3 if part.letter == "D" else 2) or part.letter == "S"
        if not is_fixed:
            return reserved
        reserved += part.count
    return reserved or None


def _field(field: Field, behind: int | None) -> str:
    """Return what a field may look like. A number takes all digits but those of fixed width that follow at once."""
    letter, count = field.letter, field.count
    match letter:
        case "V" | "z":
            return _ZONE
        case "O":
            return _SHORT_GMT if count == 1 else _GMT
        case "Z":
            return _GMT if count == 4 else f"Z|{_OFFSETS[5]}" if count == 5 else _OFFSETS[2]
        case "X":
            return f"Z|{_OFFSETS[count]}"
        case "x":
            return _OFFSETS[count]
        case "a":
            return "AM|PM"
        case "W":
            return r"\d"
        case "S":
            return rf"\d{{{count}}}"
    if field.is_text:
        return _word(letter, count)
    # This is Java's adjacent value parsing. In yyyyMMdd, the year leaves exactly the digits of the fixed fields behind
    # it.
    end = rf"(?=\d{{{behind}}}(?!\d))" if behind else r"(?!\d)"
    if letter in "yuY":
        return _year(count, end)
    if count == 1 or letter in "nNA":
        return rf"\d{{{count},{_MOST_DIGITS}}}{end}"
    return rf"\d{{{count},3}}{end}" if letter == "D" and count == 2 else rf"\d{{{count}}}"


def _year(count: int, end: str) -> str:
    if count == 2:
        return r"\d\d"
    if count < 4:
        return rf"-?\d{{{count},{_MOST_DIGITS}}}{end}"
    longer = rf"|[+-]\d{{{count + 1},{_MOST_DIGITS}}}{end}" if count < _MOST_DIGITS else ""
    return rf"-?\d{{{count}}}{end}{longer}"


def _word(letter: str, count: int) -> str:
    """Return the words of a field: short, in full (4), or their first letters (5)."""
    match letter:
        case "M" | "L":
            return "|".join(_cut(MONTHS, count))
        case "E" | "e" | "c":
            return "|".join(_cut(DAYS, count))
        case "G":
            return {4: "Before Christ|Anno Domini", 5: "B|A"}.get(count, "BC|AD")
    return r"Q[1-4]" if count == 3 else r"1st quarter|2nd quarter|3rd quarter|4th quarter" if count == 4 else "[1-4]"


def _cut(words: tuple[str, ...], count: int) -> list[str]:
    return [word if count == 4 else word[0] if count == 5 else word[:3] for word in words]


def _normal(field: Field, value: str) -> tuple[str, str]:
    """Return one letter for those that mean the same, and the value as a number if it is a word."""
    letter, count = field.letter, field.count
    same = _SAME.get(letter, letter)
    match letter:
        case "M" | "L" if count > 2:
            return same, str(_index(MONTHS, value) + 1)
        case "E" | "e" | "c" if field.is_text:
            return same, str(_index(DAYS, value) + 1)
        case "e" | "c":
            return same, str((_within(value, 1, 7) + 5) % 7 + 1)
        case "a":
            return same, "0" if value[0] in "aA" else "1"
        case "G":
            return same, "0" if value[0] in "bB" else "1"
        # Java's reduced years begin at 2000. There is no sliding century as in `SimpleDateFormat`.
        case "Y" | "y" | "u" if count == 2 and len(value) == 2:
            return same, str(2000 + int(value))
        case "k":
            return same, str(_within(value, 0, 24) % 24)
        case "h" | "K":
            return same, str(_within(value, 0, 12 if letter == "h" else 11) % 12)
        case "S":
            return same, value.ljust(9, "0")
    return same, value


_SAME = {"L": "M", "e": "E", "c": "E", "k": "H", "K": "h", "S": "n", "q": "Q", "z": "V", "O": "X", "x": "X", "Z": "X"}


def _index(words: tuple[str, ...], value: str) -> int:
    """Return the place of a word or its beginning; of letters that several words share, the last one, as Java does."""
    return max(at for at, word in enumerate(words) if word.lower().startswith(value.lower()))


def _within(value: str, low: int, high: int) -> int:
    number = int(value)
    if not low <= number <= high:
        raise ValueError(f"{value} is not within {low} and {high}")
    return number
