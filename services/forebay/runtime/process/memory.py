"""How much memory there is, and how much of it a batch may take."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from pathlib import Path

import psutil

MOST_BATCH_BYTES = 256 << 20
SHARE_OF_MEMORY = 16
"""A batch's records are in memory about four times: as read, decoded, as outputs, on their way to the broker."""

SHARE_OF_STATE = 2
"""The other half is the JVM's, and that of what a batch takes."""

_MOST_OUTPUT_BYTES = 128 << 20
_SHARE_OF_OUTPUTS = 8

_DISK_STATE_BYTES = 4_000_000_000
_SHARE_OF_TABLES = 4

_YOUNG_OBJECTS = 400_000
_COLLECTIONS = 3, 10
"""Young objects that the cyclic collector waits for, and how often it looks at these before it looks at older ones.

A commit's 50,000 records, with what they give, are 300,000 objects that live until it is through and lie in no cycle.
Python's own 700 had them looked at again and again, and all cached rows with them. Logic that makes nothing but cycles
leaves at most so many objects, about 50 MB, waiting.
"""

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes(limits: Iterable[Path] = _LIMITS) -> int:
    """Return the machine's memory, or what the container may have of it.

    Args:
        limits: files of the control group, of either version.
    """
    total = psutil.virtual_memory().total
    for file in limits:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        return min(total, int(text)) if text.isdecimal() else total
    return total


def batch_bytes(memory: int) -> int:
    """Return the default limit of a batch's records where there is that much memory (bytes)."""
    return min(MOST_BATCH_BYTES, memory // SHARE_OF_MEMORY)


def output_bytes(memory: int) -> int:
    """Return the default limit of one record's outputs where there is that much memory (bytes)."""
    return min(_MOST_OUTPUT_BYTES, memory // _SHARE_OF_OUTPUTS)


def state_bytes(memory: int, on_disk: bool) -> int:
    """Return the default limit of a task's state where there is that much memory (bytes)."""
    return _DISK_STATE_BYTES if on_disk else memory // SHARE_OF_STATE


def table_memory_bytes(memory: int) -> int:
    """Return how much of that much memory (bytes) a worker's tables on disk have mapped by default."""
    return memory // _SHARE_OF_TABLES


def collect_seldom() -> None:
    """Have this process's cyclic collector wait for as many objects as a commit has."""
    gc.set_threshold(_YOUNG_OBJECTS, *_COLLECTIONS)
