"""Durations as whole milliseconds."""

from __future__ import annotations

from datetime import timedelta

Duration = int | timedelta
"""Milliseconds, or a timedelta."""


def ms_of(duration: Duration) -> int:
    """Return a duration in ms. Raises ValueError: a timedelta is no whole number of ms."""
    if not isinstance(duration, timedelta):
        return duration
    ms, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise ValueError(f"{duration} is no whole number of ms: round it")
    return ms


def set_durations(windows: object, *names: str) -> None:
    """Replace the durations of a frozen dataclass by their ms."""
    for name in names:
        object.__setattr__(windows, name, ms_of(getattr(windows, name)))
