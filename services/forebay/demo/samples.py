"""Parses a job's /metrics page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families

_Labels = dict[str, str]


class Samples:
    """The samples of one page in Prometheus' text format."""

    def __init__(self, page: str) -> None:
        self._samples: dict[str, list[tuple[_Labels, float]]] = defaultdict(list)
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                self._samples[sample.name].append((sample.labels, sample.value))

    def values(self, name: str, **labels: str) -> list[float]:
        """Return the values of a metric's samples with labels."""
        return [value for _, value in self._matching(name, labels)]

    def with_labels(self, name: str, **labels: str) -> list[tuple[dict[str, str], float]]:
        """Return a metric's samples with labels, each with all its labels."""
        return list(self._matching(name, labels))

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples with labels; 0 without samples."""
        return sum(self.values(name, **labels))

    def _matching(self, name: str, labels: _Labels) -> Iterator[tuple[_Labels, float]]:
        wanted = labels.items()
        return ((labels, value) for labels, value in self._samples.get(name, ()) if wanted <= labels.items())
