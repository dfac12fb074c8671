"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)


def parse_moment(text: str) -> int:
    """Return ms since the epoch for the same as digits, or for a date and time in ISO 8601, in UTC by default.

    Raises:
        ValueError: the text is neither.
    """
    if text.isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return ms_of_moment(moment.replace(tzinfo=moment.tzinfo or UTC))


def ms_of_moment(moment: datetime) -> int:
    """Return ms since the epoch for a moment with a time zone."""
    # In whole numbers: datetime.timestamp() is a float, and 1000 times it may lie just below the millisecond.
    return (moment - _EPOCH) // _MILLISECOND
