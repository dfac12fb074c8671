"""A job's figures for Prometheus, filled from the tasks' reports."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from forebay.runtime.batch import TaskReport

_KINDS = ("output", "errors", "late")
_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 10, 30, 60)


class JobMetrics:
    """Metrics of one job; all names begin with `forebay_`, times are in seconds, sizes in bytes.

    Args:
        service: label of every metric.
    """

    def __init__(self, service: str, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._service = service

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"forebay_{name}", text, ("service", *labels), registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"forebay_{name}", text, ("service", *labels), registry=self.registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"forebay_{name}", text, ("service", *labels), registry=self.registry, buckets=_SECONDS)

        self._batch = histogram("batch_seconds", "Time all tasks of a batch took")
        self._part = histogram("batch_part_seconds", "Time a task spent in one part of a batch", "part")
        self._cpu = counter("task_cpu_seconds", "CPU time of tasks' Python threads", "part")
        self._latency = histogram("end_to_end_latency_seconds", "From a record's timestamp to its output's commit")
        self._batches = counter("batches", "Batches through", "step")
        self._in = counter("records_in", "Records read", "topic")
        self._handed = counter("records_handed", "Records a later stage was handed", "stage")
        self._out = counter("records_out", "Records committed", "kind")
        self._duplicates = counter("duplicates", "Records recognized as repetitions")
        self._timers = counter("timers_fired", "Timers fired")
        self._stream_time = gauge(
            "stream_time_seconds", "Stream time of a task, seconds since the epoch", "stage", "task"
        )
        self._rows = gauge("state_rows", "Rows of a task's table", "stage", "task")
        self._bytes = gauge("state_bytes", "Bytes of a task's table", "stage", "task")
        self._last_batch = gauge("last_batch_timestamp_seconds", "When the last batch ended")
        self._lag = gauge("lag_records", "Records waiting", "topic", "partition")
        self._restarts = counter("query_restarts", "Times the query was started again after a failure")

        # Counters begin at 0, or a rate would not see what the first batch counts.
        self._restarts.labels(service)
        self._duplicates.labels(service)
        for kind in _KINDS:
            self._out.labels(service, kind)

    def observe(self, seconds: float, reports: Sequence[TaskReport]) -> None:
        """Take in one batch: how long its tasks took together, and what each reports."""
        service = self._service
        self._batch.labels(service).observe(seconds)
        self._last_batch.labels(service).set(time.time())
        for report in reports:
            self._batches.labels(service, report.step).inc()
            for topic, count in report.records_in.items():
                (self._handed if report.stage else self._in).labels(service, topic).inc(count)
            if report.step == "produce":
                for kind, count in zip(_KINDS, (report.outputs, report.errors, report.late), strict=True):
                    self._out.labels(service, kind).inc(count)
            self._duplicates.labels(service).inc(report.duplicates)
            self._timers.labels(service).inc(report.timers_fired)
            for part, value in report.seconds.items():
                self._part.labels(service, part).observe(value)
            for part, value in report.cpu_seconds.items():
                self._cpu.labels(service, part).inc(value)
            for value in report.latencies_ms:
                self._latency.labels(service).observe(value / 1000)
            task = (str(report.stage), str(report.task))
            if report.stream_time >= 0:
                self._stream_time.labels(service, *task).set(report.stream_time / 1000)
            self._rows.labels(service, *task).set(report.state_rows)
            self._bytes.labels(service, *task).set(report.state_bytes)

    def observe_lag(self, lag: dict[tuple[str, int], int]) -> None:
        """Take in the records waiting by (topic, partition)."""
        for (topic, partition), records in lag.items():
            self._lag.labels(self._service, topic, str(partition)).set(records)

    def restarted(self) -> None:
        """Count a start of the query after a failure."""
        self._restarts.labels(self._service).inc()
