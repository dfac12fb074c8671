"""Java's `compareTo` order of values, in which NaN is the largest DOUBLE, and bytes from 0x80 on are negative."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


def rank(value: Any) -> Any:
    """Return a sort key of a value for `min`, `max` and `sorted`."""
    if isinstance(value, float):
        return value != value, value, math.copysign(1.0, value)  # noqa: PLR0124 (only NaN is not itself)
    return rank_bytes(value) if isinstance(value, bytes) else value


def rank_bytes(value: bytes) -> bytes:
    """Return a sort key of bytes for the order of `ByteBuffer.compareTo`, which compares signed bytes."""
    return value.translate(_SIGNED)


def smallest_to_largest(values: Iterable[Any]) -> list[Any]:
    """Return values of one type in ascending order."""
    return sorted(values, key=rank)
