"""A job's metrics for Prometheus, filled from the reports of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge

from forebay.http.former_names import keep_former_name
from forebay.runtime.observability.latencies import EventTimeDelays, Latencies
from forebay.runtime.observability.reported_lag import ReportedLag
from forebay.runtime.observability.store_metrics import StoreMetrics
from forebay.runtime.task.statistics import TaskFigures

_KINDS = ("output", "errors", "late")
_COUNTED = ("commits", "outputs", "errors", "late", "duplicates", "timers_fired", "restored_rows")

Place = tuple[int, int]
N = TypeVar("N", int, float)


class JobMetrics:
    """Metrics of one job. All names begin with `forebay_`, times are in seconds, and sizes in bytes.

    Tasks report sums since their worker opened them. The metrics are sums since this process started.

    Args:
        service: label of every metric.
    """

    def __init__(self, service: str, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._service = service
        self._known: dict[Place, TaskFigures] = {}
        self.totals = dict.fromkeys(("records_in", "records_out", "state_rows", "state_bytes", *_COUNTED), 0)
        """Sums over all tasks."""
        self.reported_lag = ReportedLag()
        self._latencies = Latencies(service)
        self._delays = EventTimeDelays(service)
        for collector in (self._latencies, self._delays):
            self.registry.register(collector)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"forebay_{name}", text, ("service", *labels), registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"forebay_{name}", text, ("service", *labels), registry=self.registry)

        # Labels that were renamed in 0.3 keep their former name (`part`, `stage`) for one release.
        self._phases = counter("loop_seconds", "Time that tasks spent in a phase of the loop", "phase")
        self._cpu = counter("task_cpu_seconds", "CPU time of tasks' Python threads", "phase", "part")
        self._commits = counter("commits", "Commits of tasks")
        self._in = counter("records_in", "Records read", "topic")
        self._skipped = counter(
            "skipped_offsets", "Offsets that were deleted before they were read, and skipped", "topic"
        )
        self._repartitioned = counter("repartition_records_in", "Records read from repartition topics", "topic")
        self._out = counter("records_out", "Records committed", "kind")
        self._sent = counter("records_produced", "Outputs committed, by topic", "topic")
        self._duplicates = counter("duplicates", "Duplicates that were recognized")
        self._timers = counter("timers_fired", "Timers fired")
        self._edges = counter(
            "edge_records", "Records between nodes of the topology", "subtopology", "from_node", "to_node"
        )
        self._own = counter("user_counter", "Counters of the logic", "name")
        place = "subtopology", "stage", "task"
        self._stream_time = gauge("stream_time_seconds", "Stream time of a task, seconds since the epoch", *place)
        self._rows = gauge("state_rows", "Rows of a task's table", *place)
        self._bytes = gauge("state_bytes", "Bytes of a task's table", *place)
        self._stores = StoreMetrics(gauge, counter, service, self.registry)
        self._last_commit = gauge("last_commit_timestamp_seconds", "When a task last reported that its loop runs")
        self._dropped = counter("records_dropped", "Records of a sub-topology that the job no longer has", "topic")
        self._lag = gauge("lag_records", "Records waiting", "topic", "partition")
        self._restarts = counter("query_restarts", "Restarts of the query after a failure")
        self._worker_restarts = counter("worker_restarts", "Workers that were replaced while the query ran")

        self._keep_former_names()

        # Counters begin at 0, because a rate would otherwise miss the first increase.
        for zero in (self._restarts, self._worker_restarts, self._duplicates, self._commits):
            zero.labels(service)
        for kind in _KINDS:
            self._out.labels(service, kind)

    def _keep_former_names(self) -> None:
        keep_former_name(self.registry, self._phases, "forebay_commit_part_seconds", phase="part")
        keep_former_name(self.registry, self._repartitioned, "forebay_records_handed", topic="stage")
        keep_former_name(self.registry, self._sent, "forebay_results")
        keep_former_name(
            self.registry,
            self._edges,
            "forebay_step_records",
            subtopology="stage",
            from_node="origin",
            to_node="step",
        )
        keep_former_name(self.registry, self._own, "forebay_logic", name="figure")

    def observe(self, figures: Sequence[TaskFigures]) -> list[TaskFigures]:
        """Add the reports of tasks; return the increase for those that reported something new."""
        counted = []
        self.reported_lag.observe(figures)
        for now in figures:
            before = self._known.get((now.sub_topology, now.task))
            # Only times of the same worker are compared, because clocks of two workers may be hours apart.
            if before is not None and _same(before, now) and before.at >= now.at:
                continue
            self._known[now.sub_topology, now.task] = now
            passed = since(before, now)
            self._add(passed)
            counted.append(passed)
        if counted:
            self._last_commit.labels(self._service).set(max(item.at for item in counted) / 1000)
        return counted

    def _add(self, passed: TaskFigures) -> None:
        service, sub_topology, task = self._service, str(passed.sub_topology), str(passed.task)
        place = sub_topology, sub_topology, task
        for topic, count in passed.records_in.items():
            (self._repartitioned if passed.sub_topology else self._in).labels(service, topic).inc(count)
        for topic, count in passed.skipped.items():
            self._skipped.labels(service, topic).inc(count)
        for topic, count in passed.sent.items():
            self._sent.labels(service, topic).inc(count)
        for kind, count in zip(_KINDS, (passed.outputs, passed.errors, passed.late), strict=True):
            self._out.labels(service, kind).inc(count)
        self._commits.labels(service).inc(passed.commits)
        self._duplicates.labels(service).inc(passed.duplicates)
        self._timers.labels(service).inc(passed.timers_fired)
        for phase, value in passed.seconds.items():
            self._phases.labels(service, phase).inc(max(0.0, value))
        for phase, value in passed.cpu_seconds.items():
            self._cpu.labels(service, phase, phase).inc(max(0.0, value))
        for name, value in passed.own.items():
            self._own.labels(service, name).inc(max(0.0, value))
        for arrow, count in passed.passed.items():
            self._edges.labels(service, sub_topology, *arrow.split(" ")).inc(count)
        for topic, count in passed.dropped.items():
            self.count_dropped(topic, count)
        self._latencies.add(passed)
        self._delays.add(passed)
        if passed.stream_time >= 0:
            self._stream_time.labels(service, *place).set(passed.stream_time / 1000)
        self._rows.labels(service, *place).set(passed.state_rows)
        self._bytes.labels(service, *place).set(passed.state_bytes)
        self._stores.add(passed, sub_topology, task)
        totals = dict(self.totals)
        for name in _COUNTED:
            shown = "records_out" if name == "outputs" else name
            totals[shown] = totals.get(shown, 0) + getattr(passed, name)
        read = 0 if passed.sub_topology else sum(passed.records_in.values())
        totals["records_in"] = totals.get("records_in", 0) + read
        totals["state_rows"] = sum(item.state_rows for item in self._known.values())
        totals["state_bytes"] = sum(item.state_bytes for item in self._known.values())
        self.totals = totals

    def observe_lag(self, lag: dict[tuple[str, int], int]) -> None:
        """Set the lag in records, by topic and partition."""
        for (topic, partition), records in lag.items():
            self._lag.labels(self._service, topic, str(partition)).set(records)

    def count_dropped(self, topic: str, count: int) -> None:
        """Count records of a repartition topic that no sub-topology reads, or whose sender the job no longer has."""
        self._dropped.labels(self._service, topic).inc(count)

    def count_restart(self) -> None:
        """Count a restart of the query after a failure."""
        self._restarts.labels(self._service).inc()

    def worker_restarted(self) -> None:
        """Count a worker that was replaced while the query ran."""
        self._worker_restarts.labels(self._service).inc()


def since(before: TaskFigures | None, now: TaskFigures) -> TaskFigures:
    """Return the increase between two reports of a task; the whole report if another worker has the task now."""
    if before is None or not _same(before, now):
        return now
    return TaskFigures(
        sub_topology=now.sub_topology,
        task=now.task,
        opened=now.opened,
        at=now.at,
        n=now.n,
        commits=now.commits - before.commits,
        records_in=_less(now.records_in, before.records_in),
        skipped=_less(now.skipped, before.skipped),
        outputs=now.outputs - before.outputs,
        sent=_less(now.sent, before.sent),
        errors=now.errors - before.errors,
        late=now.late - before.late,
        duplicates=now.duplicates - before.duplicates,
        timers_fired=now.timers_fired - before.timers_fired,
        changes=now.changes - before.changes,
        conversions=now.conversions[len(before.conversions) :],
        stream_time=now.stream_time,
        closing_time=now.closing_time,
        state_rows=now.state_rows,
        state_bytes=now.state_bytes,
        restored_rows=now.restored_rows - before.restored_rows,
        restore_seconds=now.restore_seconds - before.restore_seconds,
        tail_rows=now.tail_rows,
        stores={name: [*held[:2], *_calls(held, before.stores.get(name))] for name, held in now.stores.items()},
        seconds=_less(now.seconds, before.seconds),
        cpu_seconds=_less(now.cpu_seconds, before.cpu_seconds),
        latencies=[a - b for a, b in zip(now.latencies, before.latencies, strict=True)],
        latency_ms=now.latency_ms - before.latency_ms,
        delays=[a - b for a, b in zip(now.delays, before.delays, strict=True)],
        delay_ms=now.delay_ms - before.delay_ms,
        worker=now.worker,
        own=_less(now.own, before.own),
        passed=_less(now.passed, before.passed),
        lag=now.lag,
        dropped=_less(now.dropped, before.dropped),
    )


def _same(before: TaskFigures, now: TaskFigures) -> bool:
    """Return whether both are of the same worker, since it opened the task."""
    return before.opened == now.opened and before.worker == now.worker


def _calls(now: Sequence[int], before: Sequence[int] | None) -> list[int]:
    puts, gets = (0, 0) if before is None else before[2:]
    return [now[2] - puts, now[3] - gets]


def _less(now: dict[str, N], before: dict[str, N]) -> dict[str, N]:
    return {name: value - before.get(name, 0) for name, value in now.items()}
