"""Times as texts by Java's patterns (`DateTimeFormatter`), such as yyyy-MM-dd HH:mm:ss.SSS."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
_DIGITS = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "h": "half"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a pattern: a letter so many times, or a text (no letter)."""

    letter: str
    count: int
    text: str


@lru_cache(1024)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """Return the parts of a pattern. Raises ValueError for letters that mean nothing."""
    found: list[Part] = []
    at = 0
    for match in _PART.finditer(pattern):
        if match.start() != at:
            break
        at = match.end()
        text = match[0]
        if match[1] is not None:
            found.append(Part("", 0, match[1].replace("''", "'") or "'"))
        elif match[2]:
            if text[0] not in "yuMdHhmsSaEXxZzVnL":
                raise ValueError(f"the letter {text[0]} means nothing in the pattern {pattern!r}")
            found.append(Part(text[0], len(text), text))
        else:
            found.append(Part("", 0, text))
    if at != len(pattern):
        raise ValueError(f"the pattern {pattern!r} has a quote without its end")
    return tuple(found)


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, such as UTC, +01:00 or Europe/Rome. Raises ValueError."""
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d\d?):?(\d\d)?", name)
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(offset if match[1] == "+" else -offset)
    try:
        return UTC if name in ("Z", "UTC", "GMT") else ZoneInfo(name)
    except (KeyError, OSError) as error:
        raise ValueError(f"there is no time zone {name}") from error


def formatted(value: int, pattern: str, zone: str = "UTC") -> str:
    """Return a timestamp (ms) as text. Raises ValueError."""
    moment = (_EPOCH + timedelta(milliseconds=value)).astimezone(zone_of(zone))
    return "".join(part.text if not part.letter else _shown(part, moment, zone) for part in parts_of(pattern))


def _shown(part: Part, moment: datetime, zone: str) -> str:
    match part.letter:
        case "y" | "u":
            return f"{moment.year % 100:02d}" if part.count == 2 else f"{moment.year:0{part.count}d}"
        case "M" | "L" if part.count > 2:
            name = _MONTHS[moment.month - 1]
            return name if part.count > 3 else name[:3]
        case "E":
            name = _DAYS[moment.weekday()]
            return name if part.count > 3 else name[:3]
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "S" | "n":
            return f"{moment.microsecond:06d}".ljust(part.count, "0")[: part.count]
        case "z":
            return moment.strftime("%Z")
        case "V":
            return zone
        case "X" | "x" | "Z":
            text = moment.strftime("%z")
            if part.letter == "X" and text == "+0000":
                return "Z"
            return f"{text[:3]}:{text[3:]}" if part.count >= 3 and part.letter != "Z" else text
    number = {
        "M": moment.month,
        "L": moment.month,
        "d": moment.day,
        "H": moment.hour,
        "h": (moment.hour - 1) % 12 + 1,
        "m": moment.minute,
        "s": moment.second,
    }[part.letter]
    return f"{number:0{part.count}d}"


def parsed(text: str, pattern: str, zone: str = "UTC") -> int:
    """Return the timestamp (ms) that a text stands for; what it leaves out is as of 1970. Raises ValueError."""
    match = _reader(pattern).fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} does not have the pattern {pattern}")
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    numbers = {name: int(found[name]) for name in set(_DIGITS.values()) & found.keys() if found[name].isdigit()}
    year = numbers.get("year", 1970)
    year += 2000 if len(found.get("year", "0000")) == 2 else 0
    month = numbers.get("month", 1)
    if "name" in found:
        month = 1 + next(at for at, name in enumerate(_MONTHS) if name[:3].lower() == found["name"][:3].lower())
    hour = numbers.get("hour", 0)
    if "half" in numbers:
        hour = numbers["half"] % 12 + (12 if found.get("noon", "").upper() == "PM" else 0)
    micros = int(found.get("fraction", "0").ljust(6, "0")[:6])
    in_zone = zone_of(found.get("zone", zone))
    moment = datetime(
        year, month, numbers.get("day", 1), hour, numbers.get("minute", 0), numbers.get("second", 0), micros, in_zone
    )
    return (moment - _EPOCH) // timedelta(milliseconds=1)


@lru_cache(1024)
def _reader(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(map(_expected, parts_of(pattern))))


def _expected(part: Part) -> str:
    match part.letter:
        case "":
            return re.escape(part.text)
        case "M" | "L" if part.count > 2:
            return r"(?P<name>[A-Za-z]+)"
        case "E":
            return r"[A-Za-z]+"
        case "a":
            return r"(?P<noon>[AaPp][Mm])"
        case "S" | "n":
            return rf"(?P<fraction>\d{{{part.count}}})"
        case "X" | "x" | "Z" | "z" | "V":
            return r"(?P<zone>Z|[+-]\d\d:?\d?\d?|[A-Za-z/_]+(?:[+-]\d\d?)?)"
    name = _DIGITS["M" if part.letter == "L" else part.letter]
    width = r"\d{1,4}" if part.count == 1 else rf"\d{{{part.count}}}"
    return rf"(?P<{name}>{width})"


def parser(pattern: str) -> Callable[[str], int]:
    """Return what reads texts of a pattern. Raises ValueError for a pattern that means nothing."""
    parts_of(pattern)
    return lambda text: parsed(text, pattern)
