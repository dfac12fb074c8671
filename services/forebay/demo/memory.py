"""How much memory a demo's jobs get on this machine."""

from __future__ import annotations

import psutil

from forebay.demo.errors import DemoError

LEAST_HEAP_MB = 384
MOST_HEAP_MB = 1024
OUTSIDE_HEAP_MB = 600
"""What a job takes besides its heap: the rest of the JVM, RocksDB, driver and worker in Python."""
_STEP_MB = 64
_MB = 1 << 20


def available_mb() -> int:
    """Return the memory that new processes can have, in MB."""
    return int(psutil.virtual_memory().available // _MB)


def heap_mb(jobs: int, available: int) -> int:
    """Return the heap of each of so many jobs, in MB, for a machine with that many MB available.

    Raises:
        DemoError: they don't fit; says how many do.
    """
    each = available // jobs - OUTSIDE_HEAP_MB
    if each < LEAST_HEAP_MB:
        fitting = available // (LEAST_HEAP_MB + OUTSIDE_HEAP_MB)
        raise DemoError(
            f"{jobs} jobs need {jobs * (LEAST_HEAP_MB + OUTSIDE_HEAP_MB):,} MB of memory, {available:,} MB are "
            f"available: name at most {max(1, fitting)} services, end other programs, or choose --memory yourself."
        )
    return min(MOST_HEAP_MB, each // _STEP_MB * _STEP_MB)
