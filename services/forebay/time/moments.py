"""Conversion of dates and times to milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)


def parse_moment(text: str) -> int:
    """Return the ms since the epoch of a text: digits (ms), or a date and time in ISO 8601, in UTC by default.

    Raises:
        ValueError: The text is neither.
    """
    if text.isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return ms_of_moment(moment.replace(tzinfo=moment.tzinfo or UTC))


def ms_of_moment(moment: datetime) -> int:
    """Return the ms since the epoch of a datetime with a time zone."""
    # Use whole numbers. `datetime.timestamp()` is a float, and 1000 times it may be slightly below the millisecond.
    return (moment - _EPOCH) // _MILLISECOND
