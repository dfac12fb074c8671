"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_moment(text: str) -> int:
    """Return ms since the epoch for the same as digits, or for a date and time in ISO 8601, in UTC by default.

    Raises:
        ValueError: the text is neither.
    """
    if text.isdecimal():
        return int(text)
    moment = datetime.fromisoformat(text)
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
