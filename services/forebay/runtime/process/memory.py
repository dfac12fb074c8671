"""The available memory, and the limits that are derived from it."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from pathlib import Path

import psutil

MOST_BATCH_BYTES = 256 << 20
SHARE_OF_MEMORY = 16
"""A commit's records are in memory about four times: as read, decoded, as outputs, on their way to the broker."""

SHARE_OF_STATE = 2
"""The other half is for the JVM and for the records of a commit."""

_MOST_OUTPUT_BYTES = 128 << 20
_SHARE_OF_OUTPUTS = 8

_DISK_STATE_BYTES = 4_000_000_000
_SHARE_OF_TABLES = 4

_YOUNG_OBJECTS = 400_000
_COLLECTIONS = 3, 10
"""Number of young objects after which the cyclic collector runs, and how often before it includes older objects.

A commit's 50,000 records and their results are 300,000 objects that live until its end and are in no cycle. With
Python's default of 700, the collector traversed them again and again, together with all cached rows. Logic that creates
only cycles leaves at most this number of objects uncollected, about 50 MB.
"""

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes(limits: Iterable[Path] = _LIMITS) -> int:
    """Return the machine's memory (bytes), or the limit of the container.

    Args:
        limits: files with the control group's limit, of either version.
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
    """Return the default limit (bytes) of a commit's records for a worker with this memory (bytes)."""
    return min(MOST_BATCH_BYTES, memory // SHARE_OF_MEMORY)


def output_bytes(memory: int) -> int:
    """Return the default limit (bytes) of one record's outputs for a worker with this memory (bytes)."""
    return min(_MOST_OUTPUT_BYTES, memory // _SHARE_OF_OUTPUTS)


def state_bytes(memory: int, on_disk: bool) -> int:
    """Return the default limit (bytes) of a task's state for a worker with this memory (bytes)."""
    return _DISK_STATE_BYTES if on_disk else memory // SHARE_OF_STATE


def table_memory_bytes(memory: int) -> int:
    """Return the default number of bytes of this memory that a worker's tables on disk may map."""
    return memory // _SHARE_OF_TABLES


def collect_seldom() -> None:
    """Let this process's cyclic collector run only after as many new objects as a commit has."""
    gc.set_threshold(_YOUNG_OBJECTS, *_COLLECTIONS)
