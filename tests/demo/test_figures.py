"""The demo's statistics use the names of the job's own metrics."""

import time

import pytest
from prometheus_client import generate_latest

from forebay.demo.figures import Figures, read_figures
from forebay.demo.samples import Samples
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures

SERVICE = "user-sessions"


def task_figures(task: int, opened: int | None = None) -> TaskFigures:
    now = time.time_ns() // 1_000_000
    latencies = [0] * (len(LATENCY_MS) + 1)
    latencies[LATENCY_MS.index(300)] = 2
    latencies[LATENCY_MS.index(2_000)] = 1
    return TaskFigures(
        sub_topology=0,
        task=task,
        opened=opened or now,
        at=now,
        commits=3,
        records_in={"user_activity": 100},
        outputs=90,
        errors=4,
        late=2,
        duplicates=3,
        stream_time=1_735_689_600_000 + task,
        state_rows=10,
        state_bytes=1000,
        latencies=latencies,
        latency_ms=2_150,
    )


def figures(metrics: JobMetrics, service: str = SERVICE) -> Figures:
    return read_figures(Samples(generate_latest(metrics.registry).decode()), service)


def test_reports_of_two_tasks() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe([task_figures(0), task_figures(1)])
    metrics.observe_lag({("user_activity", 0): 5, ("user_activity", 1): 7})
    metrics.count_restart()
    result = figures(metrics)
    assert (result.records_in, result.outputs, result.errors, result.late, result.duplicates) == (200, 180, 8, 4, 6)
    assert (result.lag, result.restarts, result.state_rows, result.state_bytes) == (12, 1, 20, 2000)
    assert result.stream_time_s == 1_735_689_600.0
    assert result.commits == 6
    assert result.latency_p50_s == pytest.approx(0.275), "the buckets distinguish 200 ms from 300"
    assert result.latency_p95_s == pytest.approx(1.85)


def test_before_the_first_commit() -> None:
    result = figures(JobMetrics(SERVICE))
    assert result.lag is None
    assert result.stream_time_s is None
    assert result.commits == 0
    assert result.latency_p50_s is None


def test_other_services_do_not_count() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe([task_figures(0)])
    assert figures(metrics, "device-alerts").records_in == 0


def test_reading_a_page_is_quick_enough_to_do_every_second() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe([task_figures(task) for task in range(64)])
    began = time.process_time()
    figures(metrics)
    assert time.process_time() - began < 0.5
