"""The order of values as Java's `compareTo` has it: NaN is the largest DOUBLE, bytes from 80 on are negative."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


def rank(value: Any) -> Any:
    """Return a key by which `min`, `max` and `sorted` order values of one type."""
    if isinstance(value, float):
        return value != value, value, math.copysign(1.0, value)  # noqa: PLR0124 (only NaN is not itself)
    return rank_bytes(value) if isinstance(value, bytes) else value


def rank_bytes(value: bytes) -> bytes:
    """Return a key that orders bytes as `ByteBuffer.compareTo` does, which compares signed bytes."""
    return value.translate(_SIGNED)


def smallest_to_largest(values: Iterable[Any]) -> list[Any]:
    """Return values of one type in order."""
    return sorted(values, key=rank)
