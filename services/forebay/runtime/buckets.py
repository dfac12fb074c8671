"""Grouping keys that put each task into the state partition of its own number."""

from __future__ import annotations

from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


def spark_hash(value: int) -> int:
    """Give Spark's hash of an int column: Murmur3_x86_32 with seed 42, as a signed int."""
    k = (value & _MASK) * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    k = k * 0x1B873593 & _MASK
    h = _SEED ^ k
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def bucket_ids(tasks: int) -> tuple[int, ...]:
    """Give one int per task, task t's landing in partition t of `tasks`."""
    found: dict[int, int] = {}
    for candidate in count():
        found.setdefault(spark_hash(candidate) % tasks, candidate)
        if len(found) == tasks:
            return tuple(found[task] for task in range(tasks))
    raise AssertionError
