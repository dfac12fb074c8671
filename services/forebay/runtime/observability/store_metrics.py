"""Metrics of a job's stores for Prometheus: their size, their use, and the time of their restore."""

from __future__ import annotations

from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

from forebay.http.former_names import keep_former_name
from forebay.runtime.task.statistics import TaskFigures


class MakesGauge(Protocol):
    """Creates a gauge with a name, the label `service` and these labels."""

    def __call__(self, name: str, text: str, *labels: str) -> Gauge: ...


class MakesCounter(Protocol):
    """Creates a counter with a name, the label `service` and these labels."""

    def __call__(self, name: str, text: str, *labels: str) -> Counter: ...


class StoreMetrics:
    """Metrics by store, and of restores by task."""

    def __init__(self, gauge: MakesGauge, counter: MakesCounter, service: str, registry: CollectorRegistry) -> None:
        self._service = service
        self._rows = gauge("store_rows", "Rows of a task's store", "store", "task")
        self._bytes = gauge("store_bytes", "Bytes of a task's store", "store", "task")
        self._puts = counter("store_puts", "Rows put or deleted", "store")
        self._gets = counter("store_gets", "Rows read by key", "store")
        self._unsaved = gauge(
            "rows_since_snapshot",
            "Changelog rows after the latest snapshot, which a start reads",
            "subtopology",
            "task",
        )
        keep_former_name(registry, self._unsaved, "forebay_changelog_lag_rows", subtopology="stage")
        self._restored = counter("restored_rows", "Rows that workers read from the changelogs at a start")
        self._seconds = counter("restore_seconds", "Time that workers took to read rows from the changelogs")
        self._rate = gauge("restore_rows_per_second", "Rate of a task's latest restore", "subtopology", "stage", "task")
        for zero in (self._restored, self._seconds):
            zero.labels(service)

    def add(self, passed: TaskFigures, sub_topology: str, task: str) -> None:
        """Add what a task did since its previous report."""
        service = self._service
        for store, (rows, size, puts, gets) in passed.stores.items():
            self._rows.labels(service, store, task).set(rows)
            self._bytes.labels(service, store, task).set(size)
            self._puts.labels(service, store).inc(max(0, puts))
            self._gets.labels(service, store).inc(max(0, gets))
        self._unsaved.labels(service, sub_topology, task).set(passed.tail_rows)
        if passed.restored_rows > 0:
            self._restored.labels(service).inc(passed.restored_rows)
            self._seconds.labels(service).inc(max(0.0, passed.restore_seconds))
            rate = passed.restored_rows / max(passed.restore_seconds, 0.001)
            self._rate.labels(service, sub_topology, sub_topology, task).set(rate)
