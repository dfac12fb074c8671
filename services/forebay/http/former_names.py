"""Metrics under the names that they had in the previous release."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector


class FormerName(Collector):
    """Reports a metric a second time, under the name and labels of the previous release.

    Args:
        metric: the metric with its present name.
        name: the former name, without the suffix `_total`.
        labels: former names of labels, by present name.
    """

    def __init__(self, metric: Collector, name: str, labels: dict[str, str]) -> None:
        self._metric = metric
        self._name = name
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        """Yield the metric with its former name."""
        for family in self._metric.collect():
            former = Metric(self._name, f"Former name of {family.name}", family.type)
            for sample in family.samples:
                labels = {self._labels.get(label, label): value for label, value in sample.labels.items()}
                former.add_sample(self._name + sample.name.removeprefix(family.name), labels, sample.value)
            yield former


def keep_former_name(registry: CollectorRegistry, metric: Collector, name: str, /, **labels: str) -> None:
    """Report a metric under its former name, too, so that dashboards and alerts can follow after the upgrade.

    Args:
        metric: the metric with its present name.
        name: the former name, without the suffix `_total`.
        labels: former names of labels, by present name.
    """
    registry.register(FormerName(metric, name, labels))
