"""The `metrics` of functions: counters, meters and timers by name and tags."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """A metric of a definition: the number of its updates, and their sum (for timers in seconds)."""

    kind: str
    name: str
    tags: tuple[tuple[str, str], ...]
    updates: float
    total: float


class _Updates:
    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count = 0.0
        self.total = 0.0


class Counter:
    """A counter."""

    def __init__(self, updates: _Updates) -> None:
        self._updates = updates

    def increment(self, delta: int = 1) -> None:
        """Add to it."""
        self._updates.count += delta

    def close(self) -> None:
        """Do nothing. Metrics exist as long as the job."""


class Meter(Counter):
    """A counter of events."""

    def mark(self, events: int = 1) -> None:
        """Count events."""
        self._updates.count += events


class Timer(Counter):
    """A timer of durations."""

    def updateSeconds(self, seconds: float) -> None:
        """Record a duration in seconds."""
        self._updates.count += 1
        self._updates.total += seconds

    def updateMillis(self, ms: float) -> None:
        """Record a duration in ms."""
        self.updateSeconds(ms / 1_000)

    def updateNanos(self, ns: float) -> None:
        """Record a duration in ns."""
        self.updateSeconds(ns / 1_000_000_000)


class Metrics:
    """The metrics of a definition's functions in one task."""

    def __init__(self) -> None:
        self._updates: dict[tuple[str, str, tuple[tuple[str, str], ...]], _Updates] = {}
        self._lock = threading.Lock()

    def counter(self, name: str, tags: Mapping[Any, Any] | None = None) -> Counter:
        """Return the counter of a name."""
        return Counter(self._of("counter", name, tags))

    def meter(self, name: str, tags: Mapping[Any, Any] | None = None) -> Meter:
        """Return the meter of a name."""
        return Meter(self._of("meter", name, tags))

    def timer(self, name: str, tags: Mapping[Any, Any] | None = None) -> Timer:
        """Return the timer of a name."""
        return Timer(self._of("timer", name, tags))

    def figures(self) -> Iterator[Figure]:
        """Yield the metrics so far, by kind, name and tags."""
        with self._lock:
            metrics = sorted(self._updates.items())
        for (kind, name, tags), metric in metrics:
            yield Figure(kind, name, tags, metric.count, metric.total)

    def sums(self) -> dict[str, float]:
        """Return the sums by name{tag=value}. Timers have a second entry for the seconds."""
        sums: dict[str, float] = {}
        for figure in self.figures():
            tags = ",".join(f"{tag}={value}" for tag, value in figure.tags)
            name = f"{figure.name}{{{tags}}}" if tags else figure.name
            sums[name] = sums.get(name, 0.0) + figure.updates
            if figure.kind == "timer":
                sums[f"{name} seconds"] = figure.total
        return sums

    def _of(self, kind: str, name: str, tags: Mapping[Any, Any] | None) -> _Updates:
        key = kind, str(name), tuple(sorted((str(tag), str(value)) for tag, value in (tags or {}).items()))
        with self._lock:
            return self._updates.setdefault(key, _Updates())
