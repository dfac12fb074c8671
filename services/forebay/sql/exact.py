"""Sums of doubles that are exact in any order, infinite and NaN values included.

A sum is kept as the few doubles that make it up, so an average of millions is as good as one of two (Shewchuk,
"Adaptive Precision Floating-Point Arithmetic", 1997; `math.fsum` gives the nearest double of such a sum).
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def finite(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Return the doubles that make up a sum with one more finite one, largest first. Raises OverflowError."""
    rest = [*parts, value]
    results = []
    # Each round takes the nearest double of what is left, until nothing is left. The result depends only on the exact
    # sum, so the order of the records does not matter.
    while part := math.fsum(rest):
        results.append(part)
        rest.append(-part)
    return tuple(results)


def grown(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Return the doubles that make up a sum with one more; a sum beyond all doubles is infinite or NaN for good."""
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
