"""Watches a service: the statistics of its job, its results and its input."""

from __future__ import annotations

import time
from collections.abc import Mapping

from forebay.catalog import Service
from forebay.demo.history import History
from forebay.demo.probe import JobProbe
from forebay.demo.record_counts import StoredRecords
from forebay.demo.results import ResultReader
from forebay.demo.view import ServiceView
from forebay.kafka.settings import KafkaSettings


class WatchedService:
    """Collects the state of a service for the view.

    Args:
        partitions: number of partitions of its topics, by name.
    """

    def __init__(
        self, settings: KafkaSettings, service: Service, probe: JobProbe, partitions: Mapping[str, int]
    ) -> None:
        self.service = service
        self.probe = probe
        self.ready = False
        self._history = History()
        self._reader = ResultReader(settings, service, partitions)
        self._stored = StoredRecords(settings, {topic.name: partitions[topic.name] for topic in service.inputs})

    def look(self) -> ServiceView:
        """Return the current state of the service."""
        self._stored.ask()
        state = self.probe.state()
        self.ready = self.ready or state.ok
        figures = self.probe.figures()
        if figures is not None:
            self._history.add(time.monotonic(), figures)
        self._reader.look()
        return ServiceView(
            service=self.service.name,
            state=state,
            figures=self._history.latest,
            trend=self._history.trend(),
            stored=self._stored.count(),
            results=self._reader.results,
            reasons=self._reader.reasons,
        )

    def close(self) -> None:
        """Close the clients of the broker."""
        self._reader.close()
