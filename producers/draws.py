"""Tables of random values, drawn once, so that an event needs only a look-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

SIZE = 4096
MASK = SIZE - 1


def weighted_table(weights: Sequence[tuple[T, float]]) -> list[T]:
    """Return SIZE entries, in which the share of each value is that of its weight (at least one entry)."""
    total = sum(weight for _, weight in weights)
    table: list[T] = []
    for value, weight in weights:
        table.extend([value] * max(1, round(SIZE * weight / total)))
    return (table + [weights[0][0]] * SIZE)[:SIZE]


def lognormal(random: Random, median: float, sigma: float, low: int, high: int) -> list[int]:
    """Return SIZE whole numbers around `median`, from `low` to `high`, with a long tail for a large `sigma`."""
    return [min(high, max(low, round(median * math.exp(sigma * random.gauss(0, 1))))) for _ in range(SIZE)]
