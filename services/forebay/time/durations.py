"""Conversion of durations to whole milliseconds."""

from __future__ import annotations

from datetime import timedelta

Duration = int | timedelta
"""Milliseconds, or a timedelta."""


def ms_of(duration: Duration) -> int:
    """Return a duration in ms. Raise ValueError if it is not a whole number of ms, or has another type."""
    if not isinstance(duration, timedelta):
        return _whole(duration)
    ms, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise ValueError(f"{duration} is not a whole number of ms: round it")
    return ms


def _whole(ms: object) -> int:
    # A bool is an int in Python, but True as 1 ms is always a mistake.
    if isinstance(ms, bool) or not isinstance(ms, int):
        raise ValueError(
            f"the duration {ms!r} is of type {type(ms).__name__}: give whole milliseconds, such as 1_500, or a "
            "timedelta, such as timedelta(seconds=1.5)"
        )
    return ms


def set_durations(frozen: object, **durations: Duration) -> None:
    """Set fields of a frozen dataclass to durations in ms. Raise ValueError as `ms_of` does."""
    for name, duration in durations.items():
        object.__setattr__(frozen, name, ms_of(duration))
