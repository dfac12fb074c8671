"""Rates, computed from several samples of statistics."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from forebay.demo.figures import Figures

RATE_WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A job's recent rates and latencies. None: not known yet.

    Args:
        in_rate, out_rate: records per second over the last 10 s.
        commit_rate: commits of tasks per second over the last 10 s.
        latency_p50_s, latency_p95_s: as the job reports them (see Figures).
    """

    in_rate: float | None = None
    out_rate: float | None = None
    commit_rate: float | None = None
    latency_p50_s: float | None = None
    latency_p95_s: float | None = None


UNKNOWN = Trend()


class History:
    """A job's statistics of the last seconds."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, Figures]] = deque()

    @property
    def latest(self) -> Figures | None:
        """The latest statistics."""
        return self._moments[-1][1] if self._moments else None

    def add(self, at_s: float, figures: Figures) -> None:
        """Add statistics at a time (monotonic seconds). If counters have decreased, discard the earlier ones."""
        earlier = self.latest
        if earlier is not None and figures.records_in < earlier.records_in:
            self._moments.clear()
        self._moments.append((at_s, figures))
        while len(self._moments) > 1 and self._moments[1][0] <= at_s - RATE_WINDOW_S:
            self._moments.popleft()

    def trend(self) -> Trend:
        """Return the current rates and latencies."""
        if len(self._moments) < 2:
            return UNKNOWN
        at_s, now = self._moments[-1]
        then_s, then = next(moment for moment in self._moments if moment[0] >= at_s - RATE_WINDOW_S)
        if then is now:
            then_s, then = self._moments[-2]
        seconds = at_s - then_s
        return Trend(
            in_rate=(now.records_in - then.records_in) / seconds,
            out_rate=(now.outputs - then.outputs) / seconds,
            commit_rate=(now.commits - then.commits) / seconds,
            latency_p50_s=now.latency_p50_s,
            latency_p95_s=now.latency_p95_s,
        )
