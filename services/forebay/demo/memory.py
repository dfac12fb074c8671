"""The heap of the JVM of a demo's jobs on this machine."""

from __future__ import annotations

import psutil

from forebay.demo.errors import DemoError

LEAST_HEAP_MB = 512
"""Spark refuses to start with less than 480."""
MOST_HEAP_MB = 1024
OUTSIDE_HEAP_MB = 450
"""Memory of a process of jobs outside its heap: the rest of the JVM, and the driver in Python."""
JOB_MB = 250
"""Memory of each job: its processes in Python, and a producer."""
_STEP_MB = 64
_MB = 1 << 20


def available_mb() -> int:
    """Return the memory that is available for new processes, in MB."""
    return int(psutil.virtual_memory().available // _MB)


def heap_mb(jobs: int, available: int) -> int:
    """Return the heap in MB for a number of jobs in one process, if `available` MB are available.

    Raises:
        DemoError: there is not enough memory. The message contains the possible number of jobs.
    """
    heap = available - OUTSIDE_HEAP_MB - jobs * JOB_MB
    if heap < LEAST_HEAP_MB:
        fitting = (available - OUTSIDE_HEAP_MB - LEAST_HEAP_MB) // JOB_MB
        raise DemoError(
            f"{jobs} jobs need {LEAST_HEAP_MB + OUTSIDE_HEAP_MB + jobs * JOB_MB:,} MB of memory, {available:,} MB are "
            f"available: name at most {max(1, fitting)} services, end other programs, or choose --memory yourself."
        )
    return min(MOST_HEAP_MB, heap // _STEP_MB * _STEP_MB)
