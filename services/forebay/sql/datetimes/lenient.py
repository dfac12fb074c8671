"""Parsing of dates by patterns of `FastDateFormat` of Commons Lang, as in ksqlDB's PARSE_DATE.

The letters are those of `SimpleDateFormat`. Numbers do not need leading zeros and may have more digits, words may be
short or long, other text may follow, and February 30 is March 1. However, a wrong day of the week is an error, because
it is a mistake in the data.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from forebay.sql.arithmetic import within_bits
from forebay.sql.datetimes.calendars import time_of_calendar
from forebay.sql.datetimes.days import DAY_MS
from forebay.sql.datetimes.patterns import DAYS, MONTHS, Field, Text, check_length

_LETTERS = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
_WORDS = {
    "G": {"bc": 0, "b": 0, "before christ": 0, "ad": 1, "a": 1, "anno domini": 1},
    "M": {name: at for at, month in enumerate(MONTHS, 1) for name in (month.lower(), month[:3].lower())},
    "E": {name: at % 7 + 1 for at, day in enumerate(DAYS, 1) for name in (day.lower(), day[:3].lower())},
    "a": {"am": 0, "a": 0, "pm": 1, "p": 1},
}
_ZONE_MINUTES = {
    "utc": 0,
    "gmt": 0,
    "wet": 0,
    "west": 60,
    "bst": 60,
    "cet": 60,
    "cest": 120,
    "eet": 120,
    "eest": 180,
    "est": -300,
    "edt": -240,
    "cst": -360,
    "cdt": -300,
    "mst": -420,
    "mdt": -360,
    "pst": -480,
    "pdt": -420,
    "jst": 540,
}
_FIELD = {"Y": "y", "L": "M", "u": "E", "k": "H", "K": "h", "Z": "X", "z": "X"}
"""Fields that letters set, if they differ from the letter."""
_WORD_LETTERS = "GEa"
_ISO_ZONES = {1: r"Z|[+-]\d\d", 2: r"Z|[+-]\d{4}", 3: r"Z|[+-]\d\d:\d\d"}
_OFFSET = re.compile(r"([+-])(\d\d?)(?::?(\d\d))?")
_MOST = (1 << 31) - 1
_BLANKS = r"[^\S\x85\xa0\u2007\u202f]*+"
"""Whitespace as in Java, which does not include non-breaking blanks."""


class _Reader(NamedTuple):
    regex: re.Pattern[str]
    fields: tuple[tuple[str, Callable[[str], int]], ...]
    """Letter of each group of the regular expression, and a function that converts its text to a number."""
    names_day: bool
    """Whether the pattern contains the name of a day of the week."""


def parsed_date(text: str, pattern: str) -> int:
    """Return the days since 1970 of a text. Raises ValueError."""
    reader = reader_of(pattern)
    match = reader.regex.match(text)
    if match is None:
        raise ValueError(f"{text!r} does not have the pattern")
    fields: dict[str, int] = {}
    for (letter, value_of), shown in zip(reader.fields, match.groups(), strict=True):
        fields.pop(letter, None)  # the order of the fields is that in which they were set last
        fields[letter] = value_of(shown)
    ms = time_of_calendar(fields)
    if reader.names_day and fields.keys() & {"d", "D"} and _day_of_week(ms + fields.get("X", 0)) != fields["E"]:
        raise ValueError(f"{text!r} is another day of the week")
    if ms % DAY_MS:
        raise ValueError(f"{text!r} has a time of day")
    return within_bits(ms // DAY_MS, 32)


@lru_cache(1024)
def reader_of(pattern: str) -> _Reader:
    """Return a reader of texts in a pattern. Raises ValueError for an invalid pattern."""
    regex, parts = "", _parts_of(pattern)
    fields: list[tuple[str, Callable[[str], int]]] = []
    for part, follower in zip(parts, [*parts, Text("")][1:], strict=True):
        if isinstance(part, Text):
            regex += re.escape(part.text)
            continue
        letter = _FIELD.get(part.letter, part.letter)
        if letter == "X":
            regex += f"((?ai:(?>{_zone(part)})))"
            fields.append((letter, _offset_ms))
        elif _is_word(part):
            # The longest word is used, even if the text after it then does not fit.
            regex += f"((?ai:(?>{'|'.join(sorted(_WORDS[letter], reverse=True))})))"
            fields.append((letter, _word(_WORDS[letter])))
        else:
            # A number directly before another number has at most as many digits as letters, and no leading blanks.
            regex += rf"(\d{{1,{part.count}}}+)" if _is_number(follower) else rf"{_BLANKS}(\d++)"
            fields.append((letter, _number(part)))
    names_day = any(isinstance(part, Field) and part.letter == "E" for part in parts)
    return _Reader(re.compile(regex), tuple(fields), names_day)


def _day_of_week(ms: int) -> int:
    """Return the day of the week of a time, from 1 for Sunday."""
    return (ms // DAY_MS + 4) % 7 + 1


def _parts_of(pattern: str) -> list[Field | Text]:
    """Return the fields of a pattern and the texts between them."""
    check_length(pattern)
    parts: list[Field | Text] = []
    at = 0
    while at < len(pattern):
        start, letter = at, pattern[at]
        if letter.isascii() and letter.isalpha():
            while pattern[at : at + 1] == letter:
                at += 1
            parts.append(_check_field(Field(letter, at - start), pattern))
        else:
            text, at = _literal(pattern, at)
            parts.append(Text(text))
    return parts


def _check_field(field: Field, pattern: str) -> Field:
    if field.letter not in _LETTERS:
        raise ValueError(f"PARSE_DATE has no letter {field.letter} for the pattern {pattern!r}")
    if field.letter == "X" and field.count not in _ISO_ZONES:
        raise ValueError(f"the letter X is there {field.count} times in the pattern {pattern!r}")
    return field


def _literal(pattern: str, at: int) -> tuple[str, int]:
    """Return the literal text at a position, and its end. Letters in quotes are literal, and two quotes are a quote."""
    text, quoted = "", False
    while at < len(pattern) and (quoted or not (pattern[at].isascii() and pattern[at].isalpha())):
        if pattern[at] == "'":
            at += 1
            if pattern[at : at + 1] != "'":
                quoted = not quoted
                continue
        text += pattern[at]
        at += 1
    if quoted:
        raise ValueError(f"the pattern {pattern!r} has a quote that is not closed")
    return text, at


def _is_word(field: Field) -> bool:
    return field.letter in _WORD_LETTERS or (field.letter in "ML" and field.count > 2)


def _is_number(part: Field | Text) -> bool:
    return isinstance(part, Field) and not _is_word(part) and part.letter not in "zZX"


def _word(values: dict[str, int]) -> Callable[[str], int]:
    return lambda text: values[text.lower()]


def _number(field: Field) -> Callable[[str], int]:
    change = _changed_year if field.letter in "yY" and field.count < 3 else _CHANGED.get(field.letter)

    def value_of(text: str) -> int:
        value = int(text)
        if value > _MOST:
            raise ValueError(f"{text} is too large")
        return value if change is None else change(value)

    return value_of


def _changed_year(number: int) -> int:
    """Return the year for a number with less than three digits, which is in the last 80 or the next 19 years."""
    first = time.gmtime().tm_year - 80
    return number if number >= 100 else first + (number - first) % 100


_CHANGED: dict[str, Callable[[int], int]] = {
    "u": lambda of_week: 1 if of_week == 7 else of_week + 1,
    "k": lambda hour: 0 if hour == 24 else hour,
    "h": lambda hour: 0 if hour == 12 else hour,
}


def _zone(field: Field) -> str:
    if field.letter == "X" or (field.letter == "Z" and field.count == 2):
        return _ISO_ZONES[field.count if field.letter == "X" else 3]
    return rf"[+-]\d{{4}}|GMT[+-]\d{{1,2}}:\d\d|{'|'.join(sorted(_ZONE_MINUTES, reverse=True))}"


def _offset_ms(text: str) -> int:
    """Return the offset of a zone in ms. Raises ValueError if it is a day or more."""
    name = text.lower()
    if name == "z" or name in _ZONE_MINUTES:
        return _ZONE_MINUTES.get(name, 0) * 60_000
    match = _OFFSET.fullmatch(name.removeprefix("gmt"))
    assert match is not None
    sign, hours, minutes = match[1], int(match[2]), int(match[3] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r} has more than 23 hours or 59 minutes")
    return (hours * 60 + minutes) * (-60_000 if sign == "-" else 60_000)
