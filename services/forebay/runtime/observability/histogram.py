"""Prometheus histograms: the observations between two readings, and quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations by size.

    Args:
        bounds: upper bounds of the buckets, rising; the last one is infinite.
        counts: observations up to each bound (cumulative).
        sum: sum of all observed values.
    """

    bounds: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    sum: float = 0.0

    @property
    def count(self) -> float:
        """Number of observations."""
        return self.counts[-1] if self.counts else 0.0

    def since(self, earlier: Histogram) -> Histogram:
        """Return the observations since `earlier`; all if that has other buckets or more observations."""
        if earlier.bounds != self.bounds or earlier.count > self.count:
            return self
        counts = tuple(now - then for now, then in zip(self.counts, earlier.counts, strict=True))
        return Histogram(self.bounds, counts, self.sum - earlier.sum)

    def quantile(self, share: float) -> float | None:
        """Estimate the value that `share` of the observations do not exceed; None without observations.

        Like Prometheus' histogram_quantile, it is linear within a bucket, and at most the last finite bound.
        """
        if not self.count:
            return None
        wanted = share * self.count
        lower, below = 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            if count >= wanted:
                if math.isinf(bound):
                    return lower
                inside = (wanted - below) / (count - below) if count > below else 1.0
                return lower + (bound - lower) * inside
            lower, below = bound, count
        return lower
