"""Time zones with the names that Java's `ZoneId.of` accepts, and their offsets at any time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from forebay.sql.datetimes.days import Day, day_of

MOST_OFFSET_SECONDS = 18 * 3600
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d\d)(?::?(\d\d))?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_FIRST_SECOND, _LAST_SECOND = Day(2, 1, 1).number * 86_400, Day(9999, 1, 1).number * 86_400
_NO_REGIONS = frozenset(["EST", "MST", "HST", "Factory", "localtime", "posixrules"])
_ABBREVIATED = {
    **dict.fromkeys(("PST", "PDT", "PT"), "America/Los_Angeles"),
    **dict.fromkeys(("MST", "MDT", "MT"), "America/Denver"),
    **dict.fromkeys(("CST", "CDT", "CT"), "America/Chicago"),
    **dict.fromkeys(("EST", "EDT", "ET"), "America/New_York"),
    **dict.fromkeys(("CET", "CEST"), "Europe/Paris"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Athens"),
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    "BST": "Europe/London",
    "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata",
}


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone.

    Args:
        name: Name in Java.
        offset: Offset in seconds, if it is fixed.
        rules: Rules of a zone whose offset changes.
    """

    name: str
    offset: int = 0
    rules: ZoneInfo | None = None

    def offset_at(self, ms: int) -> int:
        """Return the offset in seconds at a time in ms since 1970."""
        if self.rules is None:
            return self.offset
        return _seconds(_moment(ms // 1000).replace(tzinfo=UTC).astimezone(self.rules))

    def offset_of_clock(self, seconds: int) -> int:
        """Return the offset in seconds at a local time. If the local time occurs twice, use the earlier occurrence."""
        if self.rules is None:
            return self.offset
        return _seconds(_moment(seconds).replace(tzinfo=self.rules))

    def short_name_at(self, ms: int) -> str:
        """Return the abbreviation at a time in ms, such as PST, or the name if there is no abbreviation."""
        if self.rules is None:
            return self.name
        short_name = _moment(ms // 1000).replace(tzinfo=UTC).astimezone(self.rules).tzname() or self.name
        return self.name if short_name[0] in "+-" else short_name


UTC_ZONE = Zone("UTC")


def _seconds(moment: datetime) -> int:
    offset = moment.utcoffset()
    return 0 if offset is None else offset // timedelta(seconds=1)


def _moment(seconds: int) -> datetime:
    """Return a time as a datetime. If Python does not support the year, return the same time of another year."""
    if _FIRST_SECOND <= seconds < _LAST_SECOND:
        return _EPOCH + timedelta(seconds=seconds)
    days, rest = divmod(seconds, 86_400)
    day = day_of(days)
    # Offsets depend on the time of the year, and rules do not change in distant years. Python's datetime ends in 9999.
    return datetime(9998 if seconds > 0 else 2, day.month, min(day.day, 28)) + timedelta(seconds=rest)


@lru_cache(1024)
def zone_of(name: str) -> Zone:
    """Return a time zone by its name, such as UTC, +01:00, GMT+1 or Europe/Rome. Raises ValueError."""
    if name == "Z":
        return Zone(name)
    prefix = next((known_prefix for known_prefix in ("UTC", "GMT", "UT") if name.startswith(known_prefix)), "")
    if prefix == name and prefix:
        return Zone(name)
    match = _OFFSET.fullmatch(name, len(prefix))
    if match is not None:
        offset = offset_of(match)
        return Zone(prefix + shown_offset(offset) if offset or not prefix else prefix, offset)
    if name in _NO_REGIONS or name not in _regions():
        raise ValueError(f"there is no time zone {name!r}")
    return Zone(name, rules=ZoneInfo(name))


@lru_cache(1)
def _regions() -> frozenset[str]:
    return frozenset(region for region in available_timezones() if not region.startswith(("posix/", "right/")))


def zone_of_text(text: str) -> Zone:
    """Return a time zone by its name or its abbreviation, such as PST. Raises ValueError."""
    known = _ABBREVIATED.get(text.upper())
    return zone_of(known or next((name for name in ("UTC", "GMT") if name == text.upper()), text))


def offset_of(match: re.Match[str]) -> int:
    """Return the offset in seconds from sign, hours, minutes and seconds. Raises ValueError for more than 18 hours."""
    sign, hours, minutes, seconds = match.groups()
    if int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise ValueError(f"{match[0]!r} has more than 59 minutes or seconds")
    result = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    if result > MOST_OFFSET_SECONDS:
        raise ValueError(f"{match[0]!r} is beyond 18 hours")
    return result if sign == "+" else -result


def offset_of_text(text: str) -> int:
    """Return the offset in seconds of a text such as Z, +01, +01:30 or GMT+1. Raises ValueError."""
    plain = text.upper().removeprefix("GMT")
    if plain in ("", "Z"):
        return 0
    match = _OFFSET.fullmatch(plain)
    if match is None:
        raise ValueError(f"{text!r} is not an offset")
    return offset_of(match)


def shown_offset(offset: int, colon: str = ":", *, minutes: bool = True, seconds: bool = True, zero: str = "") -> str:
    """Return an offset as text.

    Args:
        offset: Offset in seconds.
        colon: Separator of hours, minutes and seconds.
        minutes: Whether minutes are written if they are 0.
        seconds: Whether seconds are written if they are not 0.
        zero: Text of the offset 0. If it is "", the offset is written like any other.
    """
    if not offset and zero:
        return zero
    hours, rest = divmod(abs(offset), 3600)
    text = f"{'-' if offset < 0 else '+'}{hours:02d}"
    if minutes or rest:
        text += f"{colon}{rest // 60:02d}"
    return f"{text}{colon}{rest % 60:02d}" if seconds and rest % 60 else text
