"""Windows and sessions, as pure functions of timestamps in ms."""

from forebay.time.base import Window, Windows
from forebay.time.sessions import SessionWindows, merge
from forebay.time.windows import (
    JoinWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
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
    "Windows",
    "hopping",
    "merge",
    "tumbling",
    "within",
]
