"""Exact sums of doubles, which do not depend on the order of the values. Infinite and NaN values are allowed.

A sum is stored as a few doubles whose exact sum it is, so that the sum of millions of values has no rounding error
(Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997). `math.fsum` returns the nearest double.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def finite(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Return the doubles of a sum after adding a finite value, largest first. Raises OverflowError."""
    rest = [*parts, value]
    results = []
    # In each round, take the double that is nearest to the remaining sum, until nothing remains. The result depends
    # only on the exact sum and not on the order of the records.
    while part := math.fsum(rest):
        results.append(part)
        rest.append(-part)
    return tuple(results)


def grown(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Return the doubles of a sum after adding a value. A sum that is out of range remains infinite or NaN."""
    if parts and not math.isfinite(parts[0]):
        return (parts[0] + value,)
    if not math.isfinite(value):
        return (value,)
    try:
        return finite(parts, value)
    except OverflowError:
        # An overflow has the sign of the value that caused it. From then on the sum stays infinite, as in Java.
        return (math.copysign(math.inf, value),)


def round_sum(parts: Sequence[float]) -> float:
    """Return the double nearest to the sum."""
    return parts[0] if parts else 0.0
