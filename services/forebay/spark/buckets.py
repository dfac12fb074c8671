"""Values of a column that Spark's `repartition` spreads evenly over its partitions."""

from __future__ import annotations

from functools import cache
from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


def spark_hash(value: int) -> int:
    """Return Spark's hash of an int column: Murmur3_x86_32 with seed 42, as a signed int."""
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


@cache
def bucket_ids(tasks: int, partitions: int) -> tuple[int, ...]:
    """Return one int for each task, such that `repartition` sends task t's rows to partition t % `partitions`."""
    spare: dict[int, list[int]] = {}
    for candidate in count():
        spare.setdefault(spark_hash(candidate) % partitions, []).append(candidate)
        if all(len(spare.get(p, ())) * partitions + p >= tasks for p in range(min(tasks, partitions))):
            return tuple(spare[task % partitions][task // partitions] for task in range(tasks))
    raise AssertionError
