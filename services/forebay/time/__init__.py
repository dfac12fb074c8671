"""Arithmetic of windows and sessions: pure functions of timestamps, in ms."""

from forebay.time.sessions import SessionWindows, merge
from forebay.time.windows import (
    JoinWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    Window,
    hopping,
    tumbling,
    within,
)

__all__ = [
    "JoinWindows",
    "SessionWindows",
    "SlidingWindows",
    "TimeWindows",
    "UnlimitedWindows",
    "Window",
    "hopping",
    "merge",
    "tumbling",
    "within",
]
