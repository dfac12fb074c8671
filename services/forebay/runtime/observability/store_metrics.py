"""Figures of a job's stores for Prometheus: what they hold, how they are used, what their restore took."""

from __future__ import annotations

from typing import Protocol

from prometheus_client import Counter, Gauge

from forebay.runtime.task.figures import TaskFigures


class MakesGauge(Protocol):
    """Makes a gauge of a name, with the service and these labels."""

    def __call__(self, name: str, text: str, *labels: str) -> Gauge: ...


class MakesCounter(Protocol):
    """Makes a counter of a name, with the service and these labels."""

    def __call__(self, name: str, text: str, *labels: str) -> Counter: ...


class StoreMetrics:
    """Metrics by store, and of restores by task."""

    def __init__(self, gauge: MakesGauge, counter: MakesCounter, service: str) -> None:
        self._service = service
        self._rows = gauge("store_rows", "Rows of a task's store", "store", "task")
        self._bytes = gauge("store_bytes", "Bytes of a task's store", "store", "task")
        self._puts = counter("store_puts", "Rows put or deleted", "store")
        self._gets = counter("store_gets", "Rows read by key", "store")
        self._tail = gauge("changelog_lag_rows", "Rows behind the snapshot, which a start reads", "stage", "task")
        self._restored = counter("restored_rows", "Rows that workers read from the changelogs at a start")
        self._seconds = counter("restore_seconds", "Time that workers read them")
        self._rate = gauge("restore_rows_per_second", "Rate of a task's latest restore", "stage", "task")
        for zero in (self._restored, self._seconds):
            zero.labels(service)

    def add(self, passed: TaskFigures, stage: str, task: str) -> None:
        """Take in what passed in a task."""
        service = self._service
        for store, (rows, size, puts, gets) in passed.stores.items():
            self._rows.labels(service, store, task).set(rows)
            self._bytes.labels(service, store, task).set(size)
            self._puts.labels(service, store).inc(max(0, puts))
            self._gets.labels(service, store).inc(max(0, gets))
        self._tail.labels(service, stage, task).set(passed.tail_rows)
        if passed.restored_rows > 0:
            self._restored.labels(service).inc(passed.restored_rows)
            self._seconds.labels(service).inc(max(0.0, passed.restore_seconds))
            self._rate.labels(service, stage, task).set(passed.restored_rows / max(passed.restore_seconds, 0.001))
