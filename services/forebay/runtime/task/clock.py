"""The wall clock of the loop."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Return the wall clock, in ms."""
    return time.time_ns() // 1_000_000
