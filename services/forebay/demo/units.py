"""Formats numbers for people."""

from __future__ import annotations

import time

UNKNOWN = "-"
_UNITS = ("B", "kB", "MB", "GB", "TB")
_OVERFLOW_S = 60.0


def rate(value: float | None) -> str:
    """Return the text of a rate in events per second."""
    return UNKNOWN if value is None else f"{value:,.0f}/s"


def number(value: int | None) -> str:
    """Return a count."""
    return UNKNOWN if value is None else f"{value:,}"


def short(value: float | None) -> str:
    """Return the text of a count or rate in at most six characters. Thousands and more are rounded."""
    if value is None:
        return UNKNOWN
    if value < 9_999.5:
        return f"{value:.0f}"
    for unit in "kM":
        value /= 1000
        if value < 999.95:
            return f"{value:.1f}{unit}"
    return f"{value / 1000:.1f}G"


def seconds(value: float | None) -> str:
    """Return the text of a short time in seconds. Histograms end at a minute."""
    if value is None:
        return UNKNOWN
    return f"> {value:.0f} s" if value >= _OVERFLOW_S else f"{value:.2f} s"


def size(value: int) -> str:
    """Return a number of bytes."""
    amount = float(value)
    for unit in _UNITS[:-1]:
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} {_UNITS[-1]}"


def format_elapsed(value: float) -> str:
    """Return minutes and seconds, with hours from the first one on."""
    whole = int(value)
    hours = f"{whole // 3600}:" if whole >= 3600 else ""
    return f"{hours}{whole // 60 % 60:02d}:{whole % 60:02d}"


def age(value: float) -> str:
    """Return the text of an age in seconds, at least 0 s."""
    return format_elapsed(value) if value >= _OVERFLOW_S else f"{max(0.0, value):.1f} s"


def clock(value: float | None) -> str:
    """Return a moment (seconds since the epoch) as a time of day in UTC."""
    return UNKNOWN if value is None else time.strftime("%H:%M:%S", time.gmtime(value))
