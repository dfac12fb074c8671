"""Sums of doubles that are exact whatever the order, infinite and NaN values among them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from forebay.views import totals


def grown(parts: Sequence[float], value: float) -> tuple[float, ...]:
    """Return the doubles that make up a sum with one more; a sum beyond all doubles is infinite or NaN for good."""
    if parts and not math.isfinite(parts[0]):
        return (parts[0] + value,)
    if not math.isfinite(value):
        return (value,)
    try:
        return totals.grown(parts, value)
    except OverflowError:
        return (math.copysign(math.inf, value),)


def rounded(parts: Sequence[float]) -> float:
    """Return the double nearest to the sum."""
    return parts[0] if parts else 0.0
