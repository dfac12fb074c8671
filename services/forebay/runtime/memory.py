"""How much memory there is, and how much of it a batch may take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

MOST_BATCH_BYTES = 256 << 20
SHARE_OF_MEMORY = 16
"""A batch's records are in memory about four times: as read, decoded, as outputs, on their way to the broker."""

SHARE_OF_STATE = 2
"""The other half is the JVM's, and that of what a batch takes."""

_DISK_STATE_BYTES = 4_000_000_000

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


def state_bytes(memory: int, on_disk: bool) -> int:
    """Return the default limit of a task's state where there is that much memory (bytes)."""
    return _DISK_STATE_BYTES if on_disk else memory // SHARE_OF_STATE
