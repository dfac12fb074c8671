"""The clocks of the loop."""

from __future__ import annotations

import time

# On Linux, the monotonic clock does not include the time for which the machine was suspended. On macOS it does.
_SINCE_BOOT: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> int:
    """Return the wall clock, in ms."""
    return time.time_ns() // 1_000_000


def seconds_since_boot() -> float:
    """Return the time (s) of a clock that can't be set, and that includes the time of a suspended machine."""
    return time.clock_gettime(_SINCE_BOOT)
