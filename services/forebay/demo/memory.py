"""How much memory the JVM of a demo's jobs gets on this machine."""

from __future__ import annotations

import psutil

from forebay.demo.errors import DemoError

LEAST_HEAP_MB = 512
"""Spark refuses to start with less than 480."""
MOST_HEAP_MB = 1024
OUTSIDE_HEAP_MB = 450
"""What a process of jobs takes besides its heap: the rest of the JVM, the driver in Python."""
JOB_MB = 250
"""What each of its jobs takes: its processes in Python, and a producer."""
_STEP_MB = 64
_MB = 1 << 20


def available_mb() -> int:
    """Return the memory that new processes can have, in MB."""
    return int(psutil.virtual_memory().available // _MB)


def heap_mb(jobs: int, available: int) -> int:
    """Return the heap of the process of so many jobs, in MB, for a machine with that many MB available.

    Raises:
        DemoError: they don't fit; says how many do.
    """
    heap = available - OUTSIDE_HEAP_MB - jobs * JOB_MB
    if heap < LEAST_HEAP_MB:
        fitting = (available - OUTSIDE_HEAP_MB - LEAST_HEAP_MB) // JOB_MB
        raise DemoError(
            f"{jobs} jobs need {LEAST_HEAP_MB + OUTSIDE_HEAP_MB + jobs * JOB_MB:,} MB of memory, {available:,} MB are "
            f"available: name at most {max(1, fitting)} services, end other programs, or choose --memory yourself."
        )
    return min(MOST_HEAP_MB, heap // _STEP_MB * _STEP_MB)
